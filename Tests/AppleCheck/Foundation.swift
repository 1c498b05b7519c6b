// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Just the declarations of Foundation that Sources/Wynd uses, as Apple's SDK has them, each with its availability where
// that is later than the floor of Package.swift. Value types that stand in the signature of an Objective-C method are
// classes here, because a type check without the SDK cannot bridge them.
@_exported import Dispatch
@_exported import ObjectiveC

open class NSError: NSObject, Error, @unchecked Sendable {
  open var domain: String { "" }
  open var code: Int { 0 }
  open var userInfo: [String: Any] { [:] }
}
public let NSPOSIXErrorDomain = ""
public let NSUnderlyingErrorKey = ""
public let NSURLErrorFailingURLErrorKey = ""
public let NSLocalizedDescriptionKey = ""
public let NSDebugDescriptionErrorKey = ""
public struct CocoaError: Error, Sendable {
  public let code: Code
  public init(_ code: Code, userInfo: [String: Any] = [:]) { self.code = code }
  public struct Code: Equatable, Sendable {
    public static let fileWriteOutOfSpace = Code()
    public static let fileReadNoSuchFile = Code()
    public static let fileReadUnknown = Code()
    public static let fileReadCorruptFile = Code()
    public static func ~= (match: Code, error: any Error) -> Bool { false }
  }
  public static let fileWriteOutOfSpace = Code.fileWriteOutOfSpace
  public static let fileReadNoSuchFile = Code.fileReadNoSuchFile
}
public enum POSIXErrorCode: Int32, Sendable {
  case ECONNABORTED, ECONNREFUSED, ECONNRESET, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENOTCONN, EPIPE,
    ETIMEDOUT, EPROTO, EIO, EACCES, EEXIST, ENOENT, EPERM, EROFS
  public static func ~= (match: POSIXErrorCode, error: any Error) -> Bool { false }
}
public struct POSIXError: Error {
  public init(_ code: POSIXErrorCode) {}
  public static var EACCES: POSIXErrorCode { .EACCES }
  public static var EEXIST: POSIXErrorCode { .EEXIST }
  public static var ENOENT: POSIXErrorCode { .ENOENT }
  public static var EPERM: POSIXErrorCode { .EPERM }
  public static var EROFS: POSIXErrorCode { .EROFS }
}
public protocol LocalizedError: Error { var errorDescription: String? { get } }

public typealias TimeInterval = Double
public struct Date: Sendable, Codable, Hashable, Comparable {
  public static func + (date: Date, interval: Double) -> Date { date }
  public static func < (a: Date, b: Date) -> Bool { false }
  public init() {}
  public init(timeIntervalSince1970: TimeInterval) {}
  public struct ISO8601FormatStyle: Sendable {
    public init(includingFractionalSeconds: Bool = false) {}
    public func parse(_ value: String) throws -> Date { Date() }
    public static var iso8601: ISO8601FormatStyle { ISO8601FormatStyle() }
  }
  public func formatted(_ style: ISO8601FormatStyle) -> String { "" }
  public init(timeIntervalSinceNow: TimeInterval) {}
  public var timeIntervalSince1970: TimeInterval { 0 }
  public var timeIntervalSinceReferenceDate: TimeInterval { 0 }
  public func timeIntervalSince(_ date: Date) -> TimeInterval { 0 }
}
public struct Data: Sendable, Hashable, Codable, RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
  public struct WritingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static var atomic: WritingOptions { [] }
    public static var withoutOverwriting: WritingOptions { [] }
  }
  public func write(to url: URL, options: WritingOptions = []) throws {}
  public init(contentsOf url: URL) throws {}
  public init() {}
  public init(count: Int) {}
  public var startIndex: Int { 0 }
  public var endIndex: Int { 0 }
  public subscript(position: Int) -> UInt8 {
    get { 0 }
    set {}
  }
  public subscript(bounds: Range<Int>) -> Data {
    get { self }
    set {}
  }
  public mutating func replaceSubrange<C: Collection>(_ range: Range<Int>, with elements: C) where C.Element == UInt8 {}
  public mutating func append(_ other: Data) {}
  public func base64EncodedString() -> String { "" }
}
public struct UUID: Sendable, Hashable {
  public init() {}
  public init?(uuidString string: String) {}
  public var uuidString: String { "" }
}
public struct Decimal: Sendable, Hashable, Codable, CustomStringConvertible {
  public var description: String { "" }
}
public struct URLQueryItem: Sendable, Hashable {
  public init(name: String, value: String?) {
    self.name = name
    self.value = value
  }
  public var name: String
  public var value: String?
}
public struct URL: Sendable, Hashable, Codable {
  public var absoluteString: String { "" }
  public init?(string: String) {}
  public init?(string: String, relativeTo: URL?) {}
  @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
  public init?(string: String, encodingInvalidCharacters: Bool) {}
  public var scheme: String? { nil }
  public var host: String? { nil }
  public var port: Int? { nil }
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public func path(percentEncoded: Bool = true) -> String { "" }
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public func query(percentEncoded: Bool = true) -> String? { nil }
  public init(fileURLWithPath: String) {}
  public var path: String { "" }
  public var isFileURL: Bool { false }
  public var query: String? { nil }
  public var fragment: String? { nil }
  public var user: String? { nil }
  public var password: String? { nil }
  public func resourceValues(forKeys keys: Set<URLResourceKey>) throws -> URLResourceValues { URLResourceValues() }
  public var lastPathComponent: String { "" }
  public var pathExtension: String { "" }
  public func appendingPathComponent(_ component: String) -> URL { self }
  public var absoluteURL: URL { self }
  public var standardized: URL { self }
  public var hasDirectoryPath: Bool { false }
  public var standardizedFileURL: URL { self }
  public func appendingPathExtension(_ name: String) -> URL { self }
  public func deletingPathExtension() -> URL { self }
  public func deletingLastPathComponent() -> URL { self }
  public func resolvingSymlinksInPath() -> URL { self }
  public func withUnsafeFileSystemRepresentation<T>(_ body: (UnsafePointer<CChar>?) throws -> T) rethrows -> T {
    try body(nil)
  }
}
public struct URLComponents: Sendable {
  public init() {}
  public var scheme: String?
  public var host: String?
  public var encodedHost: String?
  public init?(url: URL, resolvingAgainstBaseURL: Bool) {}
  public init?(string: String) {}
  public var user: String?
  public var password: String?
  public var fragment: String?
  public var queryItems: [URLQueryItem]?
  public var percentEncodedUser: String?
  public var percentEncodedPath = ""
  public var percentEncodedQuery: String?
  public var string: String? { nil }
  public var url: URL? { nil }
}

public protocol NSLocking {
  @available(*, noasync) func lock()
  @available(*, noasync) func unlock()
}
extension NSLocking { public func withLock<R>(_ body: () throws -> R) rethrows -> R { try body() } }
open class NSLock: NSObject, NSLocking, @unchecked Sendable {
  open func lock() {}
  open func unlock() {}
}
public struct URLResourceKey: Hashable, Sendable {
  public static let isRegularFileKey = URLResourceKey()
  public static let fileSizeKey = URLResourceKey()
  public static let isDirectoryKey = URLResourceKey()
}
public struct URLResourceValues: Sendable {
  public var isRegularFile: Bool? { nil }
  public var fileSize: Int? { nil }
  public var isDirectory: Bool? { nil }
}
public struct FileAttributeKey: Hashable, Sendable {
  public static let ownerAccountID = FileAttributeKey()
  public static let referenceCount = FileAttributeKey()
  public static let systemFileNumber = FileAttributeKey()
  public static let systemNumber = FileAttributeKey()
  public static let type = FileAttributeKey()
}
public struct FileAttributeType: Hashable, Sendable { public static let typeRegular = FileAttributeType() }
open class NSNumber: NSObject { open var uint64Value: UInt64 { 0 } }
open class FileManager: NSObject {
  open func attributesOfItem(atPath path: String) throws -> [FileAttributeKey: Any] { [:] }
  nonisolated(unsafe) public static let `default` = FileManager()
  open var temporaryDirectory: URL { fatalError() }
  public enum SearchPathDirectory: UInt, Sendable { case itemReplacementDirectory }
  public struct SearchPathDomainMask: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static var userDomainMask: SearchPathDomainMask { [] }
  }
  open func url(
    for directory: SearchPathDirectory, in domain: SearchPathDomainMask, appropriateFor url: URL?, create: Bool
  ) throws -> URL { fatalError() }
  open func removeItem(at url: URL) throws {}
  open func moveItem(at source: URL, to destination: URL) throws {}
  open func createDirectory(
    at url: URL, withIntermediateDirectories: Bool, attributes: [FileAttributeKey: Any]? = nil
  ) throws {}
  open func contentsOfDirectory(
    at url: URL, includingPropertiesForKeys keys: [URLResourceKey]?
  ) throws -> [URL] { [] }
  open func fileExists(atPath path: String) -> Bool { false }
  open func replaceItemAt(_ original: URL, withItemAt new: URL) throws -> URL? { nil }
}
extension Error { public var localizedDescription: String { "" } }
// Called by code that the compiler makes for an error that crosses to Objective-C.
@_silgen_name("swift_convertNSErrorToError") public func _convertNSErrorToError(_ error: NSError?) -> any Error {
  fatalError()
}
@_silgen_name("swift_convertErrorToNSError") public func _convertErrorToNSError(_ error: any Error) -> NSError {
  fatalError()
}
open class Bundle: NSObject, @unchecked Sendable {
  open class var main: Bundle { fatalError() }
  open var bundleIdentifier: String? { nil }
}
// NS_SWIFT_SENDABLE in its header.
open class FileHandle: NSObject, @unchecked Sendable {
  public init(forReadingFrom url: URL) throws {}
  public init(forWritingTo url: URL) throws {}
  open func write<T: Collection>(contentsOf data: T) throws where T.Element == UInt8 {}
  public init(forUpdating url: URL) throws {}
  public init(fileDescriptor: Int32, closeOnDealloc: Bool) {}
  open func readToEnd() throws -> Data? { nil }
  open func read(upToCount count: Int) throws -> Data? { nil }
  open func close() throws {}
  open func synchronize() throws {}
  open func offset() throws -> UInt64 { 0 }
  open func seek(toOffset offset: UInt64) throws {}
  @discardableResult open func seekToEnd() throws -> UInt64 { 0 }
  open func truncate(atOffset offset: UInt64) throws {}
  open var fileDescriptor: Int32 { 0 }
}

public class JSONDecoder: @unchecked Sendable {
  public init() {}
  public var allowsJSON5 = false
  public enum DateDecodingStrategy: Sendable { case custom(@Sendable (any Decoder) throws -> Date) }
  public var dateDecodingStrategy = DateDecodingStrategy.custom { _ in Date() }
  public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { fatalError() }
}
public class JSONSerialization {
  public struct ReadingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let fragmentsAllowed = ReadingOptions(rawValue: 4)
  }
  public class func jsonObject(with data: Data, options: ReadingOptions = []) throws -> Any { fatalError() }
}
public class JSONEncoder: @unchecked Sendable {
  public enum DateEncodingStrategy: Sendable {
    case iso8601
    case custom(@Sendable (Date, any Encoder) throws -> Void)
  }
  public init() {}
  public var dateEncodingStrategy = DateEncodingStrategy.iso8601
  public struct OutputFormatting: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let sortedKeys = OutputFormatting(rawValue: 1)
    public static let withoutEscapingSlashes = OutputFormatting(rawValue: 2)
  }
  public var outputFormatting: OutputFormatting = []
  public func encode<T: Encodable>(_ value: T) throws -> Data { Data() }
}
public class PropertyListDecoder {
  public init() {}
  public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { fatalError() }
}
public class PropertyListSerialization: NSObject {
  public enum PropertyListFormat: UInt, Sendable { case openStep, xml, binary }
}
public class PropertyListEncoder {
  public init() {}
  public var outputFormat = PropertyListSerialization.PropertyListFormat.binary
  public func encode<Value: Encodable>(_ value: Value) throws -> Data { Data() }
}
open class OperationQueue: NSObject, @unchecked Sendable {
  open class var current: OperationQueue? { nil }
  open func addOperation(_ block: @escaping @Sendable () -> Void) {}
  open var maxConcurrentOperationCount = 0
}
public struct CharacterSet: Sendable, ExpressibleByArrayLiteral {
  public init(arrayLiteral elements: Unicode.Scalar...) {}
  public static var whitespaces: CharacterSet { CharacterSet() }
  public static var letters: CharacterSet { CharacterSet() }
  public static var controlCharacters: CharacterSet { CharacterSet() }
  public static var newlines: CharacterSet { CharacterSet() }
  public var inverted: CharacterSet { self }
  init() {}
  public init(charactersIn string: String) {}
  public func union(_ other: CharacterSet) -> CharacterSet { self }
  public func contains(_ member: Unicode.Scalar) -> Bool { false }
}
extension String {
  public init(format: String, _ arguments: any CVarArg...) { self = "" }
}
extension StringProtocol {
  public var capitalized: String { "" }
  public func trimmingCharacters(in set: CharacterSet) -> String { "" }
  public func contains<T: StringProtocol>(_ other: T) -> Bool { false }
  public func components<T: StringProtocol>(separatedBy separator: T) -> [String] { [] }
  public func components(separatedBy separator: CharacterSet) -> [String] { [] }
  public func replacingOccurrences<Target: StringProtocol, Replacement: StringProtocol>(
    of target: Target, with replacement: Replacement, options: String.CompareOptions = [], range: Range<Index>? = nil
  ) -> String { "" }
  public var removingPercentEncoding: String? { nil }
  public func addingPercentEncoding(withAllowedCharacters allowed: CharacterSet) -> String? { nil }
}
extension String {
  public struct CompareOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let regularExpression = CompareOptions(rawValue: 1)
    public static let literal = CompareOptions(rawValue: 2)
  }
  public struct Encoding: Sendable {
    public static let utf8 = Encoding()
    public static let isoLatin1 = Encoding()
    public static let windowsCP1252 = Encoding()
    public static let shiftJIS = Encoding()
    public init(rawValue: UInt) {}
    init() {}
  }
  public init?(data: Data, encoding: Encoding) { nil }
}
// In place of Core Foundation, which Foundation exports.
public final class NSString: NSObject {}
public typealias CFString = NSString
extension String: @retroactive _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSString { NSString() }
  public static func _forceBridgeFromObjectiveC(_ source: NSString, result: inout String?) {}
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSString, result: inout String?) -> Bool { false }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSString?) -> String { "" }
}
public let kCFStringEncodingInvalidId: UInt32 = 0xffff_ffff
public func CFStringConvertIANACharSetNameToEncoding(_ name: CFString) -> UInt32 { 0 }
public func CFStringConvertEncodingToNSStringEncoding(_ encoding: UInt32) -> UInt { 0 }

open class InputStream: NSObject {
  public init(data: Data) {}
  public init?(url: URL) { nil }
  open func open() {}
  open func close() {}
  open func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int { 0 }
  open var streamError: (any Error)? { nil }
}
open class Progress: NSObject, @unchecked Sendable {
  public init(totalUnitCount: Int64) {}
  open var totalUnitCount: Int64 = 0
  open var completedUnitCount: Int64 = 0
  open var cancellationHandler: (@Sendable () -> Void)?
}
public struct Locale: Sendable {
  public static var preferredLanguages: [String] { [] }
  public init(identifier: String) {}
}
public struct TimeZone: Sendable { public init?(secondsFromGMT seconds: Int) {} }
public struct Calendar: Sendable {
  public enum Identifier: Sendable { case gregorian }
  public enum Component: Sendable { case year }
  public init(identifier: Identifier) {}
  public func component(_ component: Component, from date: Date) -> Int { 0 }
  public func date(byAdding component: Component, value: Int, to date: Date, wrappingComponents: Bool = false) -> Date?
  { nil }
}
open class DateFormatter: NSObject, @unchecked Sendable {
  open var locale: Locale!
  open var timeZone: TimeZone!
  open var dateFormat: String!
  open var isLenient = false
  open var twoDigitStartDate: Date?
  open func date(from string: String) -> Date? { nil }
  open func string(from date: Date) -> String { "" }
}
open class NSMutableDictionary: NSObject {
  public subscript(key: Any) -> Any? {
    get { nil }
    set {}
  }
}
open class Thread: NSObject {
  open class var current: Thread { Thread() }
  open var threadDictionary: NSMutableDictionary { NSMutableDictionary() }
}
