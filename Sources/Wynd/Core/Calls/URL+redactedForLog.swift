import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension URLRequest {
  /// The method, and the URL without what may be secret.
  var redactedForLog: String {
    // A line break in the method would forge a line of the log.
    let method = NetworkRequestValidation.isToken(networkMethod) ? networkMethod : "(no method)"
    return "\(method) \(url?.redactedForLog ?? "(no URL)")"
  }
}

nonisolated extension HTTPURLResponse {
  /// The status and the URL, without what may be secret.
  var redactedForLog: String { "\(statusCode) from \(url?.redactedForLog ?? "(no URL)")" }
}

nonisolated extension URL {
  /// The URL without user, password, fragment and the values of its query.
  var redactedForLog: String {
    guard !isOpaque, var parts = URLComponents(string: absoluteString) else { return "\(scheme ?? ""):…" }
    parts.user = nil
    parts.password = nil
    parts.fragment = nil
    parts.queryItems = parts.queryItems?.map { item in
      // An item without a value is a value itself: "?secret", or "?c2VjcmV0==" with the padding of base64.
      let isValue = item.value?.utf8.allSatisfy { $0 == UInt8(ascii: "=") } ?? true
      return URLQueryItem(name: isValue ? "*" : item.name, value: "*")
    }
    return parts.string ?? "…"
  }

  /// Whether the URL has a scheme, and the rest is not a place: "data:text/plain,secret", "user:secret@host".
  private var isOpaque: Bool {
    let path = path(percentEncoded: true)
    return host == nil && scheme != nil && (!path.hasPrefix("/") || path.contains("@"))
  }
}
