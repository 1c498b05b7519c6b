/// Where the entries of a ``ResponseStore`` are: in memory or in a folder. It has a capacity in bytes; the least
/// recently used entry is evicted first.
nonisolated protocol ResponseStorage: Sendable {
  /// Reading an entry counts as a use.
  mutating func entry(for key: ResponseKey) -> ResponseEntry?
  /// Replaces the entry for this key. One that is larger than a quarter of the capacity only removes it.
  mutating func insert(_ entry: ResponseEntry, for key: ResponseKey)
  mutating func remove(_ key: ResponseKey)
  /// Removes the entries for all keys with this target. Nil means all entries.
  mutating func removeAll(for target: String?)
}
