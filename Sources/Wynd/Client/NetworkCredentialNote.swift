import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Notes whether a middleware has added a credential of which a cache cannot know whose it is. A cache adds the note to
/// each call.
nonisolated struct NetworkCredentialNote: Sendable {
  private let added = NetworkLock(false)

  var wasAdded: Bool { added.withLock { $0 } }

  /// Compares a request with what it was before these middleware.
  func note(_ request: URLRequest, before: URLRequest, _ middleware: [any NetworkMiddleware]) {
    if middleware.contains(where: { $0.cacheScope(of: request) != nil }) { return }
    let names = middleware.secretFields
    let isAdded = (request.allHTTPHeaderFields ?? [:]).contains { name, value in
      NetworkSensitiveHeader.matches(name, value, known: names) && before.value(forHTTPHeaderField: name) != value
    }
    if isAdded { added.withLock { $0 = true } }
  }
}
