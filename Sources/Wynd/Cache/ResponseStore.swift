/// Stores the responses of a ``ResponseCache``. Its methods are called on any thread. A store in memory implements them
/// without `async`; a store on disk does not read or write on the threads of Swift's tasks.
nonisolated public protocol ResponseStore: Sendable {
  /// The response stored for this key, or nil.
  func response(for key: ResponseKey) async -> StoredResponse?
  /// Stores a response and replaces an earlier one. A store may remove it at any time to free space.
  func store(_ response: StoredResponse, for key: ResponseKey) async
  /// Removes the response for this key.
  func remove(_ key: ResponseKey) async
  /// Removes the responses for all keys with this ``ResponseKey/url``.
  func removeAll(for url: String) async
  /// Removes all responses. Call this when the user signs out.
  func removeAll() async
}
