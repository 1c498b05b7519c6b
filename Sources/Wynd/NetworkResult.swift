public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// What a call ends with: the body of the answer, or an error that tells the whole story.
public typealias NetworkResult = Result<Data, NetworkError>

/// A successful answer with its head and its history, as `networkResponse(for:)` gives it.
nonisolated public struct NetworkResponse: Sendable {
  /// The body. Empty where the answer had none and was allowed to.
  public let data: Data
  /// Status code and header fields of the answer.
  public let response: HTTPURLResponse
  /// Every attempt in order; the last one is the one that succeeded and has no `error`.
  public var attempts: [RetryFailure.Attempt] { failures + (success.map { [$0] } ?? []) }
  /// Where it came from.
  public internal(set) var source = Source.network
  /// Where an answer can come from.
  public enum Source: Sendable {
    /// The server sent it.
    case network
    /// The server said that what is stored is still right (304).
    case revalidated
    /// It was stored, and the server was not asked, or could not be.
    case cache
  }
  // Two fields instead of one array: a call that succeeds at once allocates no history.
  let failures: [RetryFailure.Attempt]
  let success: RetryFailure.Attempt?
}

nonisolated extension NetworkResponse {
  /// Makes an answer that nobody sent, for tests and for what answers by itself.
  public init(data: Data, response: HTTPURLResponse) {
    self.init(data: data, response: response, failures: [], success: nil)
  }
}

/// A call that has been started with a completion handler. Dropping it does not end the call.
nonisolated public struct NetworkTask: Sendable {
  // A handle that is kept would keep the request, every answer so far and `onEvent` with what it captures: so it lets go
  // of the call when that has ended. (A weak reference would make every other one to the call slower.)
  private final class Call: @unchecked Sendable {
    private static let lock = NSLock()
    private var flight: (any NetworkFlight)?
    init(_ flight: any NetworkFlight) { self.flight = flight }
    var current: (any NetworkFlight)? { Self.lock.withLock { flight } }
    func end() {
      let ended = Self.lock.withLock {
        defer { flight = nil }
        return flight
      }
      // Released only here: what it captured may cancel another call when it goes, and the lock serves all calls.
      withExtendedLifetime(ended) {}
    }
  }
  private let call: Call?

  init(_ flight: (any NetworkFlight)?) { call = flight.map(Call.init) }

  /// Ends the call wherever it is, in flight or waiting: the completion handler gets `.failure(.cancelled)`, and
  /// no further attempt is made; one that is on its way may still reach the server. After the answer has come this does
  /// nothing. May be called from any thread, more than once.
  public func cancel() { flight?.cancel() }

  /// The call has ended.
  func end() { call?.end() }
  /// What is under way.
  var flight: (any NetworkFlight)? { call?.current }
}
