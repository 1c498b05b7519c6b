import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a request allows a cache to do: its method, its header fields and its `cachePolicy`.
nonisolated struct NetworkCachePermissions: Sendable {
  private let control: NetworkCacheControl
  private let policy: URLRequest.CachePolicy
  /// Whether a stored response may be served, and the response to this request may be stored.
  let isCacheable: Bool
  /// Whether the server must not be asked.
  let isStoredOnly: Bool
  /// Whether the server must send the whole response.
  let isReload: Bool

  init(_ request: URLRequest, isTransfer: Bool) {
    control = NetworkCacheControl(request.value(forHTTPHeaderField: "Cache-Control"))
    policy = request.cachePolicy
    // A request for a range, or with a condition of its own, must receive the server's response to it.
    let conditions = ["Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"]
    let isConditional = conditions.contains { request.value(forHTTPHeaderField: $0) != nil }
    let isPlainGET = request.networkMethod == "GET" && !isTransfer && !isConditional
    // On Linux, changing a request without a URL stops the process.
    isCacheable = isPlainGET && !control.noStore && request.url != nil
    isStoredOnly = policy == .returnCacheDataDontLoad
    isReload = [.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData].contains(policy)
  }

  /// What the caches between the client and the server must do (RFC 9111 §5.2.1), if the policy concerns them.
  var directiveForOtherCaches: String? {
    switch policy {
    case .reloadRevalidatingCacheData: "max-age=0"
    case .reloadIgnoringLocalAndRemoteCacheData: "no-cache"
    default: nil
    }
  }

  /// Whether a stored response may be served or validated. An error that is no longer fresh may not, because its cause
  /// may have gone away.
  func mayUse(_ stored: StoredResponse, at date: Foundation.Date) -> Bool {
    !isReload && (!stored.isFailure || stored.freshness.isFresh(at: date))
  }

  /// Whether a stored response may be served without a request.
  func mayServe(_ stored: StoredResponse, at date: Foundation.Date) -> Bool {
    switch policy {
    case .returnCacheDataDontLoad, .returnCacheDataElseLoad: true
    case .reloadRevalidatingCacheData: false
    default: !control.noCache && stored.freshness.isFresh(at: date, maxAge: control.maxAge)
    }
  }
}
