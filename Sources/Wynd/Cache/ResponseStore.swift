/// Stores the responses of a ``ResponseCache``. Its methods are called on any thread.
nonisolated public protocol ResponseStore: Sendable {
  /// The response stored for this key, or nil.
  func response(for key: ResponseKey) -> StoredResponse?
  /// Stores a response and replaces an earlier one. A store may remove it at any time to free space.
  func store(_ response: StoredResponse, for key: ResponseKey)
  /// Removes the response for this key.
  func remove(_ key: ResponseKey)
  /// Removes the responses for all keys with this ``ResponseKey/url``.
  func removeAll(for url: String)
  /// Removes all responses. Call this when the user signs out.
  func removeAll()
}
