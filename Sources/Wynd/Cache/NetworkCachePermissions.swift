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

/// The directives of a Cache-Control field (RFC 9111 §5.2).
nonisolated struct NetworkCacheControl: Sendable {
  let noStore, noCache, mustRevalidate: Bool
  /// In seconds, at most 2³¹. An invalid value is 0 (RFC 9111 §4.2.1); nil means that there is no max-age.
  let maxAge: Int64?

  init(_ field: String?) {
    let elements = NetworkListField.elements(of: field)
    // No key path: this file is compiled with an Int of 32 bits, in Embedded Swift.
    let names = elements.map { $0.name }
    // Nothing in such a field may make a response fresh, and it may have been meant as a restriction.
    let isMalformed = elements.contains { $0.isMalformed }
    noStore = names.contains("no-store") || (isMalformed && Self.namesNoStore(field ?? ""))
    noCache = names.contains("no-cache") || isMalformed
    mustRevalidate = names.contains("must-revalidate")
    // If a directive is repeated, the first one is used (RFC 9111 §4.2.1).
    maxAge = elements.first { $0.name == "max-age" }.map { Self.seconds($0.value ?? "") }
  }

  /// By its bytes: a mark after it would make another character of its last letter.
  private static func namesNoStore(_ field: String) -> Bool {
    String(field.lowercased().unicodeScalars.filter { $0.isASCII }).contains("no-store")
  }

  private static func seconds(_ value: String) -> Int64 {
    // White space inside the quotes is not part of a number.
    let hasSpace = value.utf8.contains { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    return hasSpace ? 0 : min(NetworkDigits.clamped(value) ?? 0, 1 << 31)
  }
}
