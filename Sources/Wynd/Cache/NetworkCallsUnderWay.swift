import Foundation

/// Says which calls of a cache may still store their response. A server may have read the response of a call before a
/// change of the resource that ended meanwhile, or a later call may have received a newer one.
///
/// Only what concerns the calls under way is kept.
nonisolated struct NetworkCallsUnderWay: Sendable {
  /// What happened to a URL since the first of its calls under way started.
  private struct Resource: Sendable {
    var calls = 0
    var removedAt: Foundation.Date?
    /// When the newest that is known of each response was requested.
    var requests: [(key: ResponseKey, date: Foundation.Date)] = []

    func isNewest(_ key: ResponseKey, _ date: Foundation.Date) -> Bool {
      !requests.contains { $0.key == key && $0.date > date }
    }
  }
  private var resources: [String: Resource] = [:]

  mutating func start(_ url: String) { resources[url, default: Resource()].calls += 1 }

  mutating func end(_ url: String) {
    resources[url]?.calls -= 1
    if resources[url]?.calls == 0 { resources[url] = nil }
  }

  /// Notes that the responses of a URL were removed. Nil means those of all URLs.
  mutating func remove(_ url: String?, at now: Foundation.Date) {
    for url in url.map({ [$0] }) ?? Array(resources.keys) { resources[url]?.removedAt = now }
  }

  /// Whether what was requested at this date is the newest that is known, and notes it.
  mutating func takeNewest(_ key: ResponseKey, requestedAt: Foundation.Date) -> Bool {
    guard var resource = resources[key.url] else { return true }
    if let removedAt = resource.removedAt, removedAt > requestedAt { return false }
    guard resource.isNewest(key, requestedAt) else { return false }
    // A response without variants would replace all of them.
    for key in [key, key.withVariant("")] where resource.isNewest(key, requestedAt) {
      resource.requests.removeAll { $0.key == key }
      resource.requests.append((key, requestedAt))
    }
    resources[key.url] = resource
    return true
  }
}
