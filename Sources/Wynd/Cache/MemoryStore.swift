/// Stores responses in memory, up to a capacity in bytes. The least recently used response is evicted first.
nonisolated public final class MemoryStore: ResponseStore {
  private let entries: NetworkLock<NetworkLeastRecentlyUsed<ResponseKey, StoredResponse>>

  /// Makes a store with a capacity in bytes.
  public init(capacity: Int = 20_000_000) {
    entries = NetworkLock(NetworkLeastRecentlyUsed(capacity: capacity))
  }

  /// The response stored for this key, or nil. Reading it counts as a use.
  public func response(for key: ResponseKey) -> StoredResponse? {
    entries.withLock { entries in
      guard let response = entries.take(key) else { return nil }
      entries.insert(response, size: response.size, for: key)
      return response
    }
  }

  /// Stores a response, unless it is larger than a quarter of the capacity.
  public func store(_ response: StoredResponse, for key: ResponseKey) {
    entries.withLock { $0.insert(response, size: response.size, for: key) }
  }

  /// Removes the response for this key.
  public func remove(_ key: ResponseKey) {
    entries.withLock { $0.remove(key) }
  }

  /// Removes the responses for all keys with this URL.
  public func removeAll(for url: String) {
    entries.withLock { $0.removeAll { $0.url == url } }
  }

  /// Removes all responses.
  public func removeAll() {
    entries.withLock { $0.removeAll { _ in true } }
  }
}
