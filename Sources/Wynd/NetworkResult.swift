public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// What a call ends with: the body of the answer, or an error that tells the whole story.
public typealias NetworkResult = Result<Data, NetworkError>

/// A successful answer with its head and its history, as ``Foundation/URLSession/networkResponse(for:maxRetries:allowEmptyData:policy:)-(URLRequest,_,_,_)`` gives it.
nonisolated public struct NetworkResponse: Sendable {
  /// The body. Empty where the answer had none and was allowed to.
  public let data: Data
  /// Status code and header fields of the answer.
  public let response: HTTPURLResponse
  /// Every attempt in order; the last one is the one that succeeded and has no `error`.
  public var attempts: [RetryFailure.Attempt] { failures + [success] }
  // Two fields instead of one array: a call that succeeds at once allocates no history.
  let failures: [RetryFailure.Attempt]
  let success: RetryFailure.Attempt
}

/// A call that has been started with a completion handler. Dropping it does not end the call.
nonisolated public struct NetworkTask: Sendable {
  // Weak: a handle that is kept would keep the request, every answer so far and `onEvent` with what it captures. Whoever
  // will answer holds the loop.
  private(set) weak var loop: RetryLoop?

  init(loop: RetryLoop?) { self.loop = loop }

  /// Ends the call wherever it is, in flight or waiting: the completion handler gets `.failure(.cancelled)`, and
  /// no further attempt is made; one that is on its way may still reach the server. After the answer has come this does
  /// nothing. May be called from any thread, more than once.
  public func cancel() { loop?.cancel() }
}
