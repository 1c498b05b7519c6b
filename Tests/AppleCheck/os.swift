// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Just the declarations of os that Sources/Wynd uses, as Apple's SDK has them.
@available(macOS 11, iOS 14, tvOS 14, watchOS 7, *)
public struct Logger: @unchecked Sendable {
  public init(subsystem: String, category: String) {}
  public func log(level: OSLogType, _ message: OSLogMessage) {}
}
public struct OSLogType: Equatable, Sendable {
  public static let debug = OSLogType()
  public static let info = OSLogType()
  public static let `default` = OSLogType()
  public static let error = OSLogType()
}
public struct OSLogPrivacy {
  public static var `public`: OSLogPrivacy { OSLogPrivacy() }
}
public struct OSLogMessage: ExpressibleByStringInterpolation {
  public init(stringLiteral value: String) {}
  public init(stringInterpolation: OSLogInterpolation) {}
}
public struct OSLogInterpolation: StringInterpolationProtocol {
  public init(literalCapacity: Int, interpolationCount: Int) {}
  public mutating func appendLiteral(_ literal: String) {}
  public mutating func appendInterpolation(_ text: @autoclosure @escaping () -> String, privacy: OSLogPrivacy) {}
}
