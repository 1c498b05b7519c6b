/// Stores responses in memory, up to a capacity in bytes. The least recently used response is evicted first.
nonisolated public final class MemoryStore: ResponseStore {
  private let entries: NetworkLock<NetworkLeastRecentlyUsed<StoredResponse>>

  /// Makes a store with a capacity in bytes.
  public init(capacity: Int = 20_000_000) {
    entries = NetworkLock(NetworkLeastRecentlyUsed(capacity: capacity) { _ in })
  }

  /// The response stored for this key, or nil. Reading it counts as a use.
  public func response(for key: String) -> StoredResponse? {
    entries.withLock { entries in
      let response = entries.take(key)
      if let response { entries.insert(response, size: response.size, for: key) }
      return response
    }
  }

  /// Stores a response, unless it is larger than a quarter of the capacity.
  public func store(_ response: StoredResponse, for key: String) {
    entries.withLock { $0.insert(response, size: response.size, for: key) }
  }

  /// Removes the responses for all keys with the same URL.
  public func remove(_ key: String) {
    entries.withLock { $0.removeAll { NetworkStoreKey.url($0) == NetworkStoreKey.url(key) } }
  }

  /// Removes all responses.
  public func removeAll() { entries.withLock { $0.removeAll { _ in true } } }
}

/// The contents of a store, limited in total size. The least recently used value is evicted first.
nonisolated struct NetworkLeastRecentlyUsed<Value: Sendable>: Sendable {
  let capacity: Int
  /// Called with every value that is replaced, evicted or removed.
  let delete: @Sendable (Value) -> Void
  /// The number of the most recent use. Uses are numbered in order.
  var lastUse = 0
  private(set) var size = 0
  private(set) var entries: [String: (value: Value, size: Int, use: Int)] = [:]

  /// Removes and returns a value, without calling `delete`.
  mutating func take(_ key: String) -> Value? {
    let entry = entries.removeValue(forKey: key)
    size -= entry?.size ?? 0
    return entry?.value
  }

  /// Inserts a value as the most recently used, or deletes it if it is larger than a quarter of the capacity.
  mutating func insert(_ value: Value, size: Int, for key: String) {
    remove(key)
    guard size <= capacity / 4 else { return delete(value) }
    lastUse += 1
    entries[key] = (value, size, lastUse)
    self.size += size
    while self.size > capacity, let oldest = entries.min(by: { $0.value.use < $1.value.use }) { remove(oldest.key) }
  }

  mutating func remove(_ key: String) { take(key).map(delete) }

  mutating func removeAll(where isOld: (String) -> Bool) { for key in entries.keys.filter(isOld) { remove(key) } }
}

/// Reads and hashes keys in the format of ``ResponseStore``.
nonisolated enum NetworkStoreKey {
  static func url(_ key: String) -> Substring { key.prefix { $0 != " " } }

  /// An FNV-1a hash, the same in every process. It identifies text without storing it, but is not cryptographic.
  static func hash(_ bytes: some Sequence<UInt8>) -> String {
    let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    return String(("000000000000000" + String(hash, radix: 16)).suffix(16))
  }
}
