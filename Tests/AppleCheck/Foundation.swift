// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Just the declarations of Foundation that Sources/Wynd uses, as Apple's SDK has them, each with its availability where
// that is later than the floor of Package.swift. Value types that stand in the signature of an Objective-C method are
// classes here, because a type check without the SDK cannot bridge them.
@_exported import Dispatch
@_exported import AppleObjC

open class NSError: NSObject, Error, @unchecked Sendable {
  open var domain: String { "" }
  open var code: Int { 0 }
  open var userInfo: [String: Any] { [:] }
}
public let NSPOSIXErrorDomain = ""
public let NSUnderlyingErrorKey = ""
public let NSURLErrorFailingURLErrorKey = ""
public let NSLocalizedDescriptionKey = ""
public enum POSIXErrorCode: Int32, Sendable { case ECONNABORTED, ECONNRESET, ENOTCONN, EPIPE, ETIMEDOUT }
public protocol LocalizedError: Error { var errorDescription: String? { get } }

public typealias TimeInterval = Double
public struct Date: Sendable {
  public init() {}
  public init(timeIntervalSince1970: TimeInterval) {}
  public var timeIntervalSince1970: TimeInterval { 0 }
}
public struct Data: Sendable {
  public init() {}
  public var count: Int { 0 }
  public var isEmpty: Bool { true }
}
public struct URL: Sendable, Hashable {
  public init?(string: String) {}
  public init?(string: String, relativeTo: URL?) {}
  @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
  public init?(string: String, encodingInvalidCharacters: Bool) {}
  public var scheme: String? { nil }
  public var host: String? { nil }
  public var port: Int? { nil }
  public var absoluteURL: URL { self }
}
public struct URLComponents: Sendable {
  public init?(url: URL, resolvingAgainstBaseURL: Bool) {}
  public var scheme: String?
  public var user: String?
  public var password: String?
  public var fragment: String?
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
open class FileManager: NSObject {
  nonisolated(unsafe) public static let `default` = FileManager()
}
open class OperationQueue: NSObject, @unchecked Sendable {
  open class var current: OperationQueue? { nil }
  open func addOperation(_ block: @escaping @Sendable () -> Void) {}
}
extension String { public func contains<T: StringProtocol>(_ other: T) -> Bool { false } }

open class InputStream: NSObject {}
public class URLRequest: NSObject, @unchecked Sendable {
  public init(url: URL) {}
  public var url: URL?
  public var httpMethod: String?
  public var httpBody: Data?
  public var httpBodyStream: InputStream?
  public var timeoutInterval: TimeInterval = 60
  public var allHTTPHeaderFields: [String: String]?
  public func value(forHTTPHeaderField name: String) -> String? { nil }
  public func setValue(_ value: String?, forHTTPHeaderField name: String) {}
}
open class URLResponse: NSObject, @unchecked Sendable {
  open var url: URL? { nil }
}
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
  open var statusCode: Int { 0 }
  open func value(forHTTPHeaderField name: String) -> String? { nil }
  open class func localizedString(forStatusCode: Int) -> String { "" }
}
open class URLSessionConfiguration: NSObject, @unchecked Sendable {
  open var identifier: String? { nil }
  open var timeoutIntervalForRequest: TimeInterval = 60
  open var httpAdditionalHeaders: [AnyHashable: Any]?
}
open class URLSession: NSObject, @unchecked Sendable {
  open var configuration: URLSessionConfiguration { fatalError() }
  open var delegate: (any URLSessionDelegate)? { nil }
  open var delegateQueue: OperationQueue { fatalError() }
  open func dataTask(
    with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDataTask { fatalError() }
}
open class URLSessionTask: NSObject, @unchecked Sendable {
  open var delegate: (any URLSessionTaskDelegate)?
  open var countOfBytesSent: Int64 { 0 }
  open func resume() {}
  open func cancel() {}
}
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}
@objc public protocol URLSessionDelegate: NSObjectProtocol, Sendable {}
@objc public protocol URLSessionTaskDelegate: URLSessionDelegate {
  @objc optional func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)
  @objc optional func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)
}

public struct URLError: Error, Sendable {
  public init(_ code: Code, userInfo: [String: Any] = [:]) {}
  public var code: Code { Code(rawValue: 0) }
  public var userInfo: [String: Any] { [:] }
  public enum NetworkUnavailableReason: Int, Sendable { case cellular, expensive, constrained }
  public var networkUnavailableReason: NetworkUnavailableReason? { nil }
  public struct Code: RawRepresentable, Hashable, Sendable {
    public var rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let unknown = Code(rawValue: -1)
    public static let cancelled = Code(rawValue: -999)
    public static let badURL = Code(rawValue: -1000)
    public static let timedOut = Code(rawValue: -1001)
    public static let unsupportedURL = Code(rawValue: -1002)
    public static let cannotFindHost = Code(rawValue: -1003)
    public static let cannotConnectToHost = Code(rawValue: -1004)
    public static let networkConnectionLost = Code(rawValue: -1005)
    public static let dnsLookupFailed = Code(rawValue: -1006)
    public static let httpTooManyRedirects = Code(rawValue: -1007)
    public static let notConnectedToInternet = Code(rawValue: -1009)
    public static let badServerResponse = Code(rawValue: -1011)
    public static let cannotDecodeRawData = Code(rawValue: -1015)
    public static let cannotDecodeContentData = Code(rawValue: -1016)
    public static let cannotParseResponse = Code(rawValue: -1017)
    public static let internationalRoamingOff = Code(rawValue: -1018)
    public static let callIsActive = Code(rawValue: -1019)
    public static let dataNotAllowed = Code(rawValue: -1020)
    public static let secureConnectionFailed = Code(rawValue: -1200)
    public static let serverCertificateHasBadDate = Code(rawValue: -1201)
    public static let serverCertificateUntrusted = Code(rawValue: -1202)
    public static let serverCertificateHasUnknownRoot = Code(rawValue: -1203)
    public static let serverCertificateNotYetValid = Code(rawValue: -1204)
    public static let clientCertificateRejected = Code(rawValue: -1205)
    public static let clientCertificateRequired = Code(rawValue: -1206)
  }
}
