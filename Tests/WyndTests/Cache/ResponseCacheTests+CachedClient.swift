import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseCacheTests {
  /// A client with a cache whose stored responses grow old when the test says so.
  final class CachedClient {
    let script: NetworkScript
    let store: AgingStore
    var client: NetworkClient

    init(
      _ script: NetworkScript, store: any ResponseStore = MemoryStore(), stale: Bool = false,
      policy: RetryPolicy = .never, middleware: [any NetworkMiddleware] = []
    ) {
      self.script = script
      self.store = AgingStore(store)
      client = ResponseCacheTests.client(
        ResponseCache(self.store, servesStaleIfError: stale, on: script), middleware, policy: policy)
    }

    convenience init(
      _ steps: [Step], store: any ResponseStore = MemoryStore(), stale: Bool = false, policy: RetryPolicy = .never,
      middleware: [any NetworkMiddleware] = []
    ) {
      self.init(NetworkScript(steps), store: store, stale: stale, policy: policy, middleware: middleware)
    }

    func response(_ request: URLRequest) async throws -> (text: String, source: NetworkResponseSource) {
      let response = try await client.networkResponse(for: request, allowEmptyData: true)
      return (String(decoding: response.data, as: UTF8.self), response.source)
    }

    func get(_ fields: [String: String] = [:], path: String = "/", method: String = "GET", after seconds: Double = 0)
      async throws -> (text: String, source: NetworkResponseSource)
    {
      store.pass(seconds)
      return try await response(try ResponseCacheTests.request(fields, path: path, method: method))
    }

    /// The header fields of the served response.
    func head(_ fields: [String: String] = [:], after seconds: Double = 0) async throws -> HTTPURLResponse {
      store.pass(seconds)
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
    var request = URLRequest(url: try #require(URL(string: "https://a.example\(path)")))
    request.httpMethod = method
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

  /// The body that a cache serves from a store for this key.
  static func served(by store: any ResponseStore, for key: ResponseKey) async throws -> String {
    let stored = AnyKey(response: await store.response(for: key))
    var request = try request()
    request.cachePolicy = .returnCacheDataElseLoad
    let client = client(ResponseCache(stored, servesStaleIfError: true, on: NetworkScript([.dropped])))
    return String(decoding: try await client.performNetworkRequest(request), as: UTF8.self)
  }
  private struct AnyKey: ResponseStore {
    let response: StoredResponse?
    func response(for key: ResponseKey) -> StoredResponse? { response }
    func store(_ response: StoredResponse, for key: ResponseKey) {}
    func remove(_ key: ResponseKey) {}
    func removeAll(for url: String) {}
    func removeAll() {}
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

  /// Returns the responses of another store as if they had been stored earlier.
  final class AgingStore: ResponseStore, @unchecked Sendable {
    private let base: any ResponseStore
    private let lock = NSLock()
    private var time = 0.0
    private var storeCount = 0
    /// How many responses have been stored.
    var stores: Int { lock.withLock { storeCount } }
    private var storedAt: [ResponseKey: Double] = [:]

    init(_ base: any ResponseStore) { self.base = base }
    func pass(_ seconds: Double) { lock.withLock { time += seconds } }

    func response(for key: ResponseKey) async -> StoredResponse? {
      guard let response = await base.response(for: key) else { return nil }
      let passed = lock.withLock { time - (storedAt[key] ?? 0) }
      return passed == 0 ? response : Self.aged(response, by: passed)
    }
    func store(_ response: StoredResponse, for key: ResponseKey) async {
      lock.withLock { storedAt[key] = time }
      await base.store(response, for: key)
      lock.withLock { storeCount += 1 }
    }
    func remove(_ key: ResponseKey) async { await base.remove(key) }
    func removeAll(for url: String) async { await base.removeAll(for: url) }
    func removeAll() async { await base.removeAll() }

    private static func aged(_ response: StoredResponse, by seconds: Double) -> StoredResponse? {
      guard let data = try? JSONEncoder().encode(response),
        var fields = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
        let date = fields["requestedAt"] as? Double, var headers = fields["headers"] as? [String: String]
      else {
        Issue.record("a stored response has no date")
        return nil
      }
      fields["requestedAt"] = date - seconds
      for name in ["date", "expires"] {
        guard let date = headers[name].flatMap(formatter.date) else { continue }
        headers[name] = ResponseCacheTests.date(-seconds, after: date)
      }
      fields["headers"] = headers
      guard let older = try? JSONSerialization.data(withJSONObject: fields) else { return nil }
      return try? JSONDecoder().decode(StoredResponse.self, from: older)
    }
  }
}
