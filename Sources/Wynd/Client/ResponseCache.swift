#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Keeps answers to GET and asks the server whether they are still right (RFC 9111); on Linux too, where `URLCache` stores
/// nothing. Belongs among ``NetworkClient/middleware``.
///
/// ```swift
/// let cache = ResponseCache(try DiskStore(folder, capacity: 50_000_000), servesStaleIfError: true)
/// let client = NetworkClient(baseURL: baseURL, middleware: [cache], attemptMiddleware: [authentication])
/// for try await expenses in client.values(of: .expenses) { show(expenses.value, isOld: expenses.source == .cache) }
/// ```
///
/// While `max-age` lasts, nothing is sent. After that the server is asked with `If-None-Match` and `If-Modified-Since`,
/// and a 304 is served from the store. `no-store` and `Vary` are respected; it is a private cache, so `private` is stored.
/// What was got with one credential is never served to another: neither one that the request carries nor one that an
/// ``Authentication`` adds.
nonisolated public struct ResponseCache: NetworkMiddleware {
  private let store: any ResponseStore
  private let servesStaleIfError: Bool
  private let now: @Sendable () -> Date

  /// Makes a cache.
  ///
  /// - Parameters:
  ///   - store: Where answers are kept.
  ///   - servesStaleIfError: Serve what is stored where the server cannot be reached or is failing, unless it forbade
  ///     that (`must-revalidate`).
  public init(_ store: any ResponseStore, servesStaleIfError: Bool = false) {
    self.init(store, servesStaleIfError: servesStaleIfError) { Date() }
  }

  init(_ store: any ResponseStore, servesStaleIfError: Bool, now: @escaping @Sendable () -> Date) {
    self.store = store
    self.servesStaleIfError = servesStaleIfError
    self.now = now
  }

  // What `values(of:)` asks for first.
  static let isOnlyAsked = TaskLocal(wrappedValue: false)
  struct NotStored: Error {}

  /// From the store if it may, else from the server.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse {
    let key = Self.key(request, call)
    let method = request.httpMethod ?? "GET"
    let wanted = CacheControl(request.value(forHTTPHeaderField: "Cache-Control"))
    guard method == "GET", request.value(forHTTPHeaderField: "Range") == nil, !wanted.has("no-store") else {
      let response = try await next(request)
      // What it may have changed is out of date (RFC 9111 §4.4).
      if !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method) { store.remove(key) }
      return response
    }
    let stored = store.response(for: key).flatMap { $0.matches(request) ? $0 : nil }
    if Self.isOnlyAsked.get() {
      guard let stored, let response = stored.served(as: .cache) else { throw NotStored() }
      return response
    }
    if let stored, !wanted.has("no-cache"), stored.isFresh(at: now()), let response = stored.served(as: .cache) {
      return response
    }
    var asking = request
    // The session's own cache would answer for the server.
    asking.cachePolicy = .reloadIgnoringLocalCacheData
    var isOurs = false
    for (field, validator) in [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")] {
      guard let value = stored?.header(validator), request.value(forHTTPHeaderField: field) == nil else { continue }
      asking.setValue(value, forHTTPHeaderField: field)
      isOurs = true
    }
    do {
      let response = try await next(asking)
      // Has somebody else signed in meanwhile? Then nobody knows whose answer it is.
      let isSame = Self.key(request, call) == key
      if response.response.statusCode == 304, isOurs {
        guard isSame, let renewed = stored?.renewed(by: response.response, at: now()),
          let served = renewed.served(as: .revalidated)
        else { return try await next(request) }
        store.store(renewed, for: key)
        return served
      }
      if response.response.statusCode == 200, isSame {
        if let new = StoredResponse(response, to: request, at: now()) {
          store.store(new, for: key)
        } else {
          store.remove(key)
        }
      }
      return response
    } catch let error as NetworkError where servesStaleIfError && error.shouldRetry {
      guard let stored, !stored.control.has("must-revalidate"), !stored.control.has("no-cache"),
        let response = stored.served(as: .cache)
      else { throw error }
      return response
    }
  }

  /// URL, and a hash of whatever proves who asks.
  private static func key(_ request: URLRequest, _ call: NetworkCall) -> String {
    let client = call.client
    let scopes = (client.middleware + client.attemptMiddleware).compactMap { $0.cacheScope(of: request) }
    let own = (request.allHTTPHeaderFields ?? [:]).filter { RedirectGuard.isCredential($0.key, $0.value) }
      .map { "\($0.key.lowercased()):\($0.value)" }.sorted()
    let scope = (scopes + own).joined(separator: "\n")
    return "\(scope.isEmpty ? "" : stableHash(scope)) \(request.url?.absoluteString ?? "")"
  }

  /// The same in every process, and not to be turned back: 128 bits of two FNV-1a.
  static func stableHash(_ text: String) -> String {
    let parts = [UInt64(0xcbf2_9ce4_8422_2325), 0x6c62_272e_07bb_0142].map { start in
      let hash = text.utf8.reduce(start) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
      let digits = String(hash, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    return parts.joined()
  }
}

nonisolated extension NetworkClient {
  /// What is stored first, however old, then what the server says: for a list that is there at once and then up to date.
  ///
  /// The first has the ``EndpointResponse/source`` `.cache`. If nothing is stored, or what is stored is still fresh, there
  /// is only one. The error of the server's answer ends the sequence.
  ///
  /// - Parameters:
  ///   - endpoint: What to load.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  /// - Returns: One or two answers.
  public func values<E: Endpoint>(
    of endpoint: E, policy: RetryPolicy? = nil
  ) -> AsyncThrowingStream<EndpointResponse<E.Response>, any Error> {
    AsyncThrowingStream { continuation in
      let task = Task {
        let hasCache = middleware.contains { $0 is ResponseCache }
        let first =
          hasCache
          ? await ResponseCache.isOnlyAsked.withValue(
            true, operation: { try? await loadResponse(endpoint, policy: policy) })
          : nil
        if let first { continuation.yield(first) }
        do throws(NetworkError) {
          let second = try await loadResponse(endpoint, policy: policy)
          if first == nil || second.source != .cache { continuation.yield(second) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// As ``values(of:policy:)``: calls back with what is stored, then with what the server says.
  ///
  /// - Parameters:
  ///   - endpoint: What to load.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  ///   - handler: Is called once or twice, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func loadCachedFirst<E: Endpoint>(
    _ endpoint: E, policy: RetryPolicy? = nil,
    handler: @escaping @Sendable (Result<EndpointResponse<E.Response>, NetworkError>) -> Void
  ) -> NetworkTask {
    NetworkTask(
      TaskFlight(
        Task {
          do {
            for try await value in values(of: endpoint, policy: policy) {
              queue.addOperation { handler(.success(value)) }
            }
            if Task.isCancelled { queue.addOperation { handler(.failure(.cancelled)) } }
          } catch {
            queue.addOperation { handler(.failure(NetworkError(thrown: error))) }
          }
        }))
  }
}

/// The directives of a Cache-Control field (RFC 9111 §5.2).
nonisolated struct CacheControl {
  private var directives: [String: String] = [:]

  init(_ field: String?) {
    for part in (field ?? "").utf8.split(separator: 44).prefix(64) {
      let pair = (String(part) ?? "").split(separator: "=", maxSplits: 1).map {
        $0.trimmingCharacters(in: .whitespaces).lowercased()
      }
      guard let name = pair.first, directives[name] == nil else { continue }
      directives[name] = pair.count > 1 ? pair[1] : ""
    }
  }

  func has(_ name: String) -> Bool { directives[name] != nil }

  /// Seconds. What cannot be read is 0 (RFC 9111 §4.2.1); nil if nothing is said.
  var maxAge: Int? {
    directives["max-age"].map { text in
      let digits =
        text.hasPrefix("\"") && text.hasSuffix("\"") && text.count > 1 ? String(text.dropFirst().dropLast()) : text
      guard !digits.isEmpty, digits.utf8.allSatisfy({ 48...57 ~= $0 }) else { return 0 }
      return min(Int(digits) ?? .max, 1 << 31)
    }
  }
}
