import Foundation

/// The directives of a Cache-Control field (RFC 9111 §5.2).
nonisolated struct CacheControl {
  private var directives: [String: String] = [:]

  init(_ field: String?) {
    for part in (field ?? "").lowercased().split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      // If a directive is repeated, the first one counts (RFC 9111 §4.2.1).
      guard let name = pair.first, directives[name] == nil else { continue }
      directives[name] = pair.count > 1 ? pair[1] : ""
    }
  }

  func has(_ name: String) -> Bool { directives[name] != nil }

  /// Seconds, at most 2³¹. A value that cannot be parsed is 0 (RFC 9111 §4.2.1); nil if there is no max-age.
  var maxAge: Int? {
    directives["max-age"].map { min(RetryAfter.digits($0.trimmingCharacters(in: ["\""])) ?? 0, 1 << 31) }
  }
}
