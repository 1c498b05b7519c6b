/// The contents of a store, limited in total size. The least recently used value is evicted first.
nonisolated struct NetworkLeastRecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  struct Entry: Sendable {
    var value: Value
    var size: Int
    var use: Int64
  }

  let capacity: Int
  /// Called with every value that is replaced, evicted or removed.
  let delete: @Sendable (Value) -> Void
  /// The number of the most recent use. Uses are numbered in order.
  var lastUse = Int64(0)
  private var size = 0
  var entries: [Key: Entry] = [:]
  /// The keys in the order of their uses, the oldest first. A key that was used again or removed is still in its old
  /// place, with the number of that use.
  private(set) var order: ArraySlice<(key: Key, use: Int64)> = []

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
    guard size <= capacity / 4 else {
      remove(key)
      delete(value)
      return
    }
    lastUse += 1
    let replaced = entries.updateValue(Entry(value: value, size: size, use: lastUse), forKey: key)
    self.size += size - (replaced?.size ?? 0)
    if let replaced { delete(replaced.value) }
    order.append((key: key, use: lastUse))
    if order.count > 2 * entries.count + 100 { order = order.filter(isCurrent)[...] }
    while self.size > capacity, let oldest = order.popFirst() {
      if isCurrent(oldest) { remove(oldest.key) }
    }
  }

  private func isCurrent(_ place: (key: Key, use: Int64)) -> Bool { entries[place.key]?.use == place.use }

  mutating func remove(_ key: Key) {
    if let value = take(key) { delete(value) }
  }

  mutating func removeAll(where isOld: (Key) -> Bool) {
    for key in entries.keys.filter(isOld) { remove(key) }
  }
}
