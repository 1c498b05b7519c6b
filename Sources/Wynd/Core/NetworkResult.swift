public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The result of a call: the body of the response, or the error.
public typealias NetworkResult = Result<Data, NetworkError>

/// A successful response: its body, its header fields, and the attempts of the call.
nonisolated public struct NetworkResponse: Sendable {
  /// The body. Empty if the response has none.
  public let data: Data
  /// The status code and the header fields.
  public let response: HTTPURLResponse
  /// Every attempt, in order. The last one succeeded and has no `error`.
  public var attempts: [RetryFailure.Attempt] { failures + (success.map { [$0] } ?? []) }
  /// Where the response came from.
  public internal(set) var source = Source.network
  /// Why a ``ResponseCache`` served a response that may be out of date: the server could not be reached, or failed. Nil
  /// for every other response.
  public internal(set) var revalidationError: NetworkError?
  /// Where a response can come from.
  public enum Source: Sendable {
    /// The server sent it.
    case network
    /// It was stored, and the server confirmed that it is still valid (304).
    case revalidated
    /// It was stored, and is served without the server.
    case cache
  }
  // Two properties in place of an array: a call that succeeds at once allocates none.
  let failures: [RetryFailure.Attempt]
  var success: RetryFailure.Attempt?
}

nonisolated extension NetworkResponse: CustomStringConvertible {
  /// Status, URL and size: no query value, no header and nothing of the body.
  public var description: String {
    "\(response.statusCode) from \(response.url?.redactedForLog ?? "(no URL)"), \(data.count) bytes"
  }

  /// Makes a response that no server sent, for tests, and for middleware that responds without sending the request.
  public init(data: Data, response: HTTPURLResponse) { self.init(data: data, response: response, failures: []) }
}
