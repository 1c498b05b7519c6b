import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which stored response a 304 is about (RFC 9111 §4.3.4).
nonisolated extension StoredResponse {
  /// What a 304 says about a stored response.
  enum Match: Equatable {
    /// It is about this response, and updates its header fields.
    case updates
    /// The response can be served, but its header fields must not change.
    case confirms
    /// It is about another version of the body.
    case differs
  }

  /// Compares the validators of a 304 with those of this response. Many servers repeat none.
  func match(_ notModified: HTTPURLResponse) -> Match {
    let tag = notModified.networkValue(of: "ETag") ?? ""
    let modified = notModified.networkValue(of: "Last-Modified") ?? ""
    if tag.isEmpty, modified.isEmpty { return .updates }
    let isSameDate = !modified.isEmpty && modified.utf8.elementsEqual((header("Last-Modified") ?? "").utf8)
    let isStrong = !tag.isEmpty && !Self.isWeak(tag)
    if let storedTag = header("ETag"), !storedTag.isEmpty {
      // The server has compared the entity tag, and must ignore the date then (RFC 9110 §13.1.3).
      if tag.isEmpty { return isSameDate ? .updates : .confirms }
      if Self.opaqueTag(tag) != Self.opaqueTag(storedTag) { return .differs }
      // Some servers weaken the tag of a compressed 200, and not that of the 304. If-None-Match compares weakly (RFC
      // 9110 §13.1.2), but a strong tag would claim that the bytes are the same.
      return isStrong && Self.isWeak(storedTag) ? .confirms : .updates
    }
    if !isSameDate { return .differs }
    // A new strong tag needs a date that is as strong: the body may have changed within the second of a weak one.
    return isStrong && !hasStrongDate ? .differs : .updates
  }

  private static func isWeak(_ tag: String) -> Bool { Array(tag.utf8.prefix(2)) == Array("W/".utf8) }

  /// Tags are compared byte by byte (RFC 9110 §8.8.3.2). To `==`, two normal forms of a text are equal.
  private static func opaqueTag(_ tag: String) -> [UInt8] { Array(tag.utf8.dropFirst(isWeak(tag) ? 2 : 0)) }

  /// Whether Last-Modified is at least a second older than the response (RFC 9110 §8.8.2.2).
  private var hasStrongDate: Bool {
    let dates = ["Last-Modified", "Date"].compactMap { name in
      header(name).flatMap { NetworkHTTPDate.seconds($0, now: freshness.requestedAt) }
    }
    return dates.count == 2 && dates[0] < dates[1]
  }
}
