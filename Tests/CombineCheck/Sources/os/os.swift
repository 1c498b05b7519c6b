// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// As much of `os` as the library uses, with the signatures that its documentation gives.

/// Which values of a message may be read by others.
public struct OSLogPrivacy: Sendable {
  public static var `public`: OSLogPrivacy { OSLogPrivacy() }
}
public struct OSLogInterpolation: StringInterpolationProtocol {
  var text = ""
  public init(literalCapacity: Int, interpolationCount: Int) {}
  public mutating func appendLiteral(_ literal: String) { text += literal }
  public mutating func appendInterpolation(_ value: @autoclosure @escaping () -> String, privacy: OSLogPrivacy) {
    text += value()
  }
}
public struct OSLogMessage: ExpressibleByStringInterpolation, ExpressibleByStringLiteral {
  public let text: String
  public init(stringLiteral value: String) { text = value }
  public init(stringInterpolation: OSLogInterpolation) { text = stringInterpolation.text }
}
public struct Logger: Sendable {
  let write: @Sendable (String) -> Void
  public init(write: @escaping @Sendable (String) -> Void) { self.write = write }
  public func debug(_ message: OSLogMessage) { write("debug " + message.text) }
  public func notice(_ message: OSLogMessage) { write("notice " + message.text) }
  public func error(_ message: OSLogMessage) { write("error " + message.text) }
}
