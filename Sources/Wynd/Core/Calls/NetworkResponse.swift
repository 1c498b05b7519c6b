public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A successful response: its value, its header fields, and the attempts of the call.
///
/// The value of a plain call is the body. The value of an endpoint is its ``Endpoint/Response``.
nonisolated public struct NetworkResponse<Value: Sendable>: Sendable {
  /// What the body was parsed into; the body itself in a `NetworkResponse<Data>`.
  public internal(set) var value: Value
  /// The body as it was received, all of it in memory, without a limit of its size. Empty if the response has none. A
  /// download writes it to a file, and `networkBytes(for:)` gives it in chunks, of which it holds some 64 MB at most.
  public let data: Data
  /// The status code and the header fields.
  public let response: HTTPURLResponse
  /// The status code.
  public var statusCode: Int { response.statusCode }
  /// The URL that responded, after redirects.
  public var url: URL? { response.url }
  /// The header fields: `response.headers["X-Total"]`. On Linux, a field that is sent several times is one, joined by
  /// “, ”.
  public var headers: NetworkHeaders { NetworkHeaders(response.allHeaderFields) }
  /// The value of a header field, whose case does not matter; nil if the response does not have it.
  public func value(forHTTPHeaderField name: String) -> String? { response.value(forHTTPHeaderField: name) }
  /// Every attempt, in order. The last one succeeded and has no `error`. Empty if a cache served the response without
  /// the server.
  public var attempts: [NetworkAttempt] { failures + (success.map { [$0] } ?? []) }
  /// What other folders add, such as its source.
  var values = NetworkTypedValues()
  // Two properties in place of an array: a call that succeeds at once allocates none.
  var failures: [NetworkAttempt]
  var success: NetworkAttempt?
  /// Reports that this response cannot be parsed, to `onEvent` of its call; nil without one.
  var onUndecodable: (@Sendable (NetworkError) -> Void)?
}

nonisolated extension NetworkResponse: CustomStringConvertible {
  /// Status, URL and size: no query value, no header and nothing of the body.
  public var description: String { "\(response.redactedForLog), \(data.count) bytes" }

  /// Makes a response that no server sent, for tests.
  public init(value: Value, response: HTTPURLResponse, data: Data = Data(), attempts: [NetworkAttempt] = []) {
    self.init(value: value, data: data, response: response, failures: attempts)
  }
}

nonisolated extension NetworkResponse where Value == Data {
  /// Makes a response that no server sent, for tests, and for middleware that responds without sending the request.
  public init(data: Data, response: HTTPURLResponse) {
    self.init(value: data, data: data, response: response, failures: [])
  }
}
