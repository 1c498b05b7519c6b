// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Just the declarations of Dispatch that Sources/Wynd uses, as Apple's SDK has them.
open class DispatchQueue: @unchecked Sendable {
  public init(label: String, qos: DispatchQoS = .unspecified) {}
  public class func global(qos: DispatchQoS.QoSClass = .userInitiated) -> DispatchQueue { fatalError() }
  public func async(execute work: @escaping @Sendable () -> Void) {}
  public func suspend() {}
  public func resume() {}
}
public struct DispatchQoS: Sendable {
  public enum QoSClass: Sendable { case userInitiated, utility }
  public static let unspecified = DispatchQoS()
  public static let userInitiated = DispatchQoS()
}
public struct DispatchTime: Comparable, Sendable {
  public static func now() -> DispatchTime { DispatchTime(uptimeNanoseconds: 0) }
  public init(uptimeNanoseconds: UInt64) {}
  public var uptimeNanoseconds: UInt64 { 0 }
  public static func < (a: DispatchTime, b: DispatchTime) -> Bool { false }
  public static func + (time: DispatchTime, seconds: Double) -> DispatchTime { time }
}
public enum DispatchTimeInterval: Sendable { case never, milliseconds(Int) }
public protocol DispatchSourceTimer: AnyObject, Sendable {
  func setEventHandler(handler: (@convention(block) @Sendable () -> Void)?)
  func activate()
  func cancel()
  func schedule(deadline: DispatchTime, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval)
}
extension DispatchSourceTimer {
  public func schedule(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval
  ) {}
}
public class DispatchSource {
  public class func makeTimerSource(queue: DispatchQueue? = nil) -> any DispatchSourceTimer { fatalError() }
}
