/// Stored responses in memory.
nonisolated struct ResponseMemory: ResponseStorage {
  var entries: NetworkLeastRecentlyUsed<ResponseKey, ResponseEntry>

  init(capacity: Int) { entries = NetworkLeastRecentlyUsed(capacity: capacity) }

  mutating func entry(for key: ResponseKey) -> ResponseEntry? {
    guard let entry = entries.entries[key]?.value else { return nil }
    insert(entry, for: key)
    return entry
  }

  mutating func insert(_ entry: ResponseEntry, for key: ResponseKey) {
    var size = 200
    if case .response(let response) = entry { size = response.size }
    entries.insert(entry, size: size, for: key)
  }

  mutating func remove(_ key: ResponseKey) { entries.remove(key) }

  mutating func removeAll(for target: String?) { entries.removeAll { target == nil || $0.target == target } }
}
