// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Just the declarations of Combine that Sources/Wynd uses, as Apple's SDK has them (macOS 10.15, iOS 13).
public protocol Publisher<Output, Failure> {
  associatedtype Output
  associatedtype Failure: Error
}
public struct AnyPublisher<Output, Failure: Error>: Publisher {}
public struct Deferred<DeferredPublisher: Publisher>: Publisher {
  public typealias Output = DeferredPublisher.Output
  public typealias Failure = DeferredPublisher.Failure
  public init(createPublisher: @escaping () -> DeferredPublisher) {}
}
public final class Future<Output, Failure: Error>: Publisher {
  public typealias Promise = (Result<Output, Failure>) -> Void
  public init(_ attemptToFulfill: @escaping (@escaping Promise) -> Void) {}
}
public enum Publishers {
  public struct HandleEvents<Upstream: Publisher>: Publisher {
    public typealias Output = Upstream.Output
    public typealias Failure = Upstream.Failure
  }
}
public protocol Subscription {}
public enum Subscribers {
  public struct Demand {}
  public enum Completion<Failure: Error> {
    case finished
    case failure(Failure)
  }
}
extension Publisher {
  public func handleEvents(
    receiveSubscription: ((any Subscription) -> Void)? = nil, receiveOutput: ((Output) -> Void)? = nil,
    receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)? = nil, receiveCancel: (() -> Void)? = nil,
    receiveRequest: ((Subscribers.Demand) -> Void)? = nil
  ) -> Publishers.HandleEvents<Self> { Publishers.HandleEvents() }
  public func eraseToAnyPublisher() -> AnyPublisher<Output, Failure> { AnyPublisher() }
}
