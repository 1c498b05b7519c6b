import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The responses that a cache has stored, and the calls that may store others.
///
/// Two processes may share a folder. Each may lose a response that the other one replaces or evicts. In one process, the
/// caches on a folder share a store, because two of them would not notice each other's removals.
nonisolated final class ResponseStore: Sendable {
  /// A call that a cache may serve.
  struct Call: Sendable {
    let number: Int
    let key: ResponseKey
    let request: URLRequest
  }

  struct State: Sendable {
    var storage: any ResponseStorage
    /// The targets of the calls under way that may store their response. A removal takes this right from them, because
    /// the server may have read their response before a change.
    var targets: [Int: String] = [:]
    var lastCall = 0
  }

  let state: NetworkLock<State>
  /// Runs work on files, because the threads of Swift's tasks must not wait for the disk. Nil for a store in memory. One
  /// thread for each store, because one piece of work waits for the one before. To list a folder with thousands of files
  /// takes a second.
  private let queue: DispatchQueue?

  /// Makes a store in memory.
  init(capacity: Int) {
    state = NetworkLock(State(storage: ResponseMemory(capacity: capacity)))
    queue = nil
  }

  /// Makes a store in a folder. Throws a Foundation error if the folder cannot be created.
  init(in folder: URL, capacity: Int) throws {
    state = NetworkLock(State(storage: try ResponseFolder(folder, capacity: capacity)))
    queue = .network("ResponseStore")
  }

  // MARK: Calls

  /// Starts a call, and returns the stored response that suits its request. Every call has to be ended.
  func start(_ key: ResponseKey, _ request: URLRequest) async -> (call: Call, stored: StoredResponse?) {
    await change { state in
      state.lastCall += 1
      state.targets[state.lastCall] = key.target
      let call = Call(number: state.lastCall, key: key, request: request)
      return (call, state.find(key, request).response)
    }
  }

  func end(_ call: Call) {
    let end: @Sendable () -> Void = { [self] in state.withLock { $0.targets[call.number] = nil } }
    if let queue { queue.async(execute: end) } else { end() }
  }

  /// Whether nothing that concerns the call was removed since it started.
  func isCurrent(_ call: Call) async -> Bool { await change { $0.targets[call.number] != nil } }

  /// Stores what a call has received, in place of the response that suits its request. Nil removes that one.
  func replace(by new: StoredResponse?, _ call: Call) async {
    await change { state in
      guard state.targets[call.number] != nil else { return }
      if let new {
        state.insert(new, call.key, call.request)
      } else {
        state.storage.remove(state.find(call.key, call.request).key)
        state.forgetCalls(for: call.key.target)
      }
    }
  }

  // MARK: Removal

  /// Removes the responses for all keys with this target. Nil means all responses, including those that another process,
  /// such as an app extension, has put into the folder since this store was made.
  func removeAll(for target: String? = nil) async {
    await change { state in
      state.storage.removeAll(for: target)
      state.forgetCalls(for: target)
    }
  }

  private func change<Value: Sendable>(_ work: @escaping @Sendable (inout State) -> Value) async -> Value {
    guard let queue else { return state.withLock(work) }
    return await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: self.state.withLock(work)) }
    }
  }

  // MARK: Stores in folders

  struct InUse: Sendable {
    let path: String
    weak var store: ResponseStore?
  }
  /// The stores of this process in folders.
  static let inUse = NetworkLock<[InUse]>([])

  /// The store in a folder, or a new one if none is in use.
  static func shared(in folder: URL, capacity: Int) throws -> ResponseStore {
    // The path of a folder that does not exist yet can differ: its links are not resolved.
    try ResponseFolder.create(folder)
    let path = folder.resolvingSymlinksInPath().path
    return try inUse.withLock { inUse in
      inUse.removeAll { $0.store == nil }
      if let store = inUse.first(where: { $0.path == path })?.store { return store }
      let store = try ResponseStore(in: folder, capacity: capacity)
      inUse.append(InUse(path: path, store: store))
      return store
    }
  }
}

nonisolated extension ResponseStore.State {
  /// The response that suits a request, and the key that it has or would have.
  fileprivate mutating func find(
    _ key: ResponseKey, _ request: URLRequest
  ) -> (key: ResponseKey, response: StoredResponse?) {
    switch storage.entry(for: key) {
    case nil: return (key, nil)
    case .response(let response): return (key, response)
    case .variants(let variants):
      let key = key.withVariant(variants.variant(of: request))
      guard case .response(let response) = storage.entry(for: key) else { return (key, nil) }
      return (key, response)
    }
  }

  /// Stores a response. If the server now varies by other fields, or did not vary in between, earlier variants are no
  /// longer found. A newer response may have suited their requests, and the most recent one counts (RFC 9111 §4.1).
  fileprivate mutating func insert(_ response: StoredResponse, _ key: ResponseKey, _ request: URLRequest) {
    let fields = response.varyingFields
    if fields.isEmpty { return storage.insert(.response(response), for: key) }
    var variants = ResponseEntry.Variants(fields: fields)
    if case .variants(let found) = storage.entry(for: key), found.fields == fields {
      variants = found
    } else {
      storage.insert(.variants(variants), for: key)
    }
    storage.insert(.response(response), for: key.withVariant(variants.variant(of: request)))
  }

  fileprivate mutating func forgetCalls(for target: String?) {
    targets = targets.filter { target != nil && $0.value != target }
  }
}

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
