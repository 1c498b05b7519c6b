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
  /// Why a ``ResponseCache`` served what may be out of date: the server could not be reached or was failing. Nil for every
  /// other response.
  public internal(set) var revalidationError: NetworkError?
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

nonisolated extension NetworkResponse: CustomStringConvertible {
  /// Status, URL and size: no query value, no header and nothing of the body.
  public var description: String {
    "\(response.statusCode) from \(response.url?.redactedForLog ?? "(no URL)"), \(data.count) bytes"
  }

  /// Makes an answer that nobody sent, for tests and for what answers by itself.
  public init(data: Data, response: HTTPURLResponse) {
    self.init(data: data, response: response, failures: [], success: nil)
  }
}
