/// The contents of a store, limited in total size. The least recently used value is evicted first.
nonisolated struct NetworkLeastRecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry: Sendable {
    var value: Value
    var size: Int
    var use: Int
  }

  private struct Use: Sendable {
    var key: Key
    var number: Int
  }

  let capacity: Int
  /// Called with every value that is replaced, evicted or removed.
  let delete: @Sendable (Value) -> Void
  /// The number of the most recent use. Uses are numbered in order.
  var lastUse = 0
  private var size = 0
  private var entries: [Key: Entry] = [:]
  /// Every use in order, from `firstUse` on. One that is not the last use of its key is skipped. Finding the oldest entry
  /// takes no search, which a full store would need for each new value.
  private var uses: [Use] = []
  private var firstUse = 0

  init(capacity: Int, delete: @escaping @Sendable (Value) -> Void = { _ in }) {
    self.capacity = capacity
    self.delete = delete
  }

  /// Removes and returns a value, without calling `delete`.
  mutating func take(_ key: Key) -> Value? {
    guard let entry = entries.removeValue(forKey: key) else { return nil }
    size -= entry.size
    return entry.value
  }

  /// Inserts a value as the most recently used, or deletes it if it is larger than a quarter of the capacity.
  mutating func insert(_ value: Value, size: Int, for key: Key) {
    remove(key)
    guard size <= capacity / 4 else {
      delete(value)
      return
    }
    lastUse += 1
    entries[key] = Entry(value: value, size: size, use: lastUse)
    uses.append(Use(key: key, number: lastUse))
    self.size += size
    while self.size > capacity, let oldest = takeFirstUse() {
      if isLast(oldest) { remove(oldest.key) }
    }
    removeOldUses()
  }

  mutating func remove(_ key: Key) {
    if let value = take(key) { delete(value) }
  }

  mutating func removeAll(where isOld: (Key) -> Bool) {
    for key in entries.keys.filter(isOld) { remove(key) }
  }

  // MARK: The order of use

  /// Whether the entry was not used again, nor removed.
  private func isLast(_ use: Use) -> Bool { entries[use.key]?.use == use.number }

  private mutating func takeFirstUse() -> Use? {
    if firstUse >= uses.count { return nil }
    firstUse += 1
    return uses[firstUse - 1]
  }

  /// Removes the uses that do not count any more, once they outnumber the entries. That is rare enough for a use to take
  /// constant time on average.
  private mutating func removeOldUses() {
    if uses.count <= 2 * entries.count + 100 { return }
    uses = uses[firstUse...].filter(isLast)
    firstUse = 0
  }
}
