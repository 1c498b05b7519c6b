import Foundation
import Testing
@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseCacheTests {
  /// A client with a cache whose stored responses grow old when the test says so.
  final class CachedClient {
    let script: NetworkScript
    let cache: ResponseCache
    var client: NetworkClient

    init(
      _ script: NetworkScript, cache: ResponseCache? = nil, stale: Bool = false, policy: RetryPolicy = .never,
      middleware: [any NetworkMiddleware] = []
    ) {
      self.script = script
      self.cache = cache ?? ResponseCache(servesStaleIfError: stale, on: script)
      client = ResponseCacheTests.client(self.cache, middleware, policy: policy)
    }

    convenience init(
      _ steps: [Step], stale: Bool = false, policy: RetryPolicy = .never, middleware: [any NetworkMiddleware] = []
    ) {
      self.init(NetworkScript(steps), stale: stale, policy: policy, middleware: middleware)
    }

    /// Makes all responses in memory older.
    func pass(_ seconds: Double) {
      if seconds == 0 { return }
      cache.store.state.withLock { state in
        guard var memory = state.storage as? ResponseMemory else { return }
        for (key, entry) in memory.entries.entries {
          guard case .response(let response) = entry.value, let older = ResponseCacheTests.aged(response, by: seconds)
          else { continue }
          memory.entries.entries[key]?.value = .response(older)
        }
        state.storage = memory
      }
    }

    func response(_ request: URLRequest) async throws -> (text: String, source: NetworkResponseSource) {
      let response = try await client.networkResponse(for: request, allowEmptyData: true)
      return (response.data.text, response.source)
    }

    func get(_ fields: [String: String] = [:], path: String = "/", method: String = "GET", after seconds: Double = 0)
      async throws -> (text: String, source: NetworkResponseSource)
    {
      pass(seconds)
      return try await response(try ResponseCacheTests.request(fields, path: path, method: method))
    }

    /// The header fields of the served response.
    func head(_ fields: [String: String] = [:], after seconds: Double = 0) async throws -> HTTPURLResponse {
      pass(seconds)
      return try await client.networkResponse(for: try ResponseCacheTests.request(fields), allowEmptyData: true)
        .response
    }
  }

  static let origin = URL(string: "https://a.example")

  static func client(
    _ cache: ResponseCache, _ middleware: [any NetworkMiddleware] = [], policy: RetryPolicy = .never
  ) -> NetworkClient {
    NetworkClient(baseURL: origin, on: cache, policy: policy, middleware: middleware)
  }

  static func request(_ fields: [String: String] = [:], path: String = "/", method: String = "GET") throws -> URLRequest
  {
    var request = URLRequest(url: try #require(URL(string: "https://a.example\(path)")), method: method)
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    return request
  }

  static func authentication(
    _ token: String?, as account: String? = nil, renewed: String = "renewed"
  ) throws -> Authentication<BearerToken> {
    Authentication(for: try #require(origin), token.map { BearerToken($0) }, as: account) { _, _ in
      BearerToken(renewed)
    }
  }

  /// A date as HTTP writes it, this many seconds from now.
  static func date(_ seconds: Double, after date: Date = Date()) -> String {
    formatter.string(from: date.addingTimeInterval(seconds))
  }
  private static var formatter: DateFormatter {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter
  }

  /// The response as if it had been stored earlier.
  fileprivate static func aged(_ response: StoredResponse, by seconds: Double) -> StoredResponse? {
    guard let data = try? JSONEncoder().encode(response),
      var fields = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
      var freshness = fields["freshness"] as? [String: Any], let date = freshness["requestedAt"] as? Double,
      var headers = fields["headers"] as? [String: String]
    else {
      Issue.record("a stored response has no date")
      return nil
    }
    freshness["requestedAt"] = date - seconds
    fields["freshness"] = freshness
    for name in ["date", "expires"] {
      guard let date = headers[name].flatMap(formatter.date) else { continue }
      headers[name] = ResponseCacheTests.date(-seconds, after: date)
    }
    fields["headers"] = headers
    guard let older = try? JSONSerialization.data(withJSONObject: fields) else { return nil }
    return try? JSONDecoder().decode(StoredResponse.self, from: older)
  }
}
