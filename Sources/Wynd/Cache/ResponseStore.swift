import Foundation

/// Stores responses in memory or in a folder, up to a capacity in bytes. The least recently used one is evicted first.
///
/// The process may end while a file is written, so an incomplete or modified file is deleted when it is read. File
/// names contain the order of use, because reading file dates requires a privacy manifest.
///
/// Two processes may share a folder. Each may lose a response that the other one replaces or evicts. In one process, the
/// caches on a folder share a store, because two of them would not notice each other's removals.
nonisolated final class ResponseStore: Sendable {
  enum Entry: Sendable {
    case memory(ResponseKey, StoredResponse)
    case file(URL)
  }
  /// The name of an entry is a hash of the URL, followed by a hash of the key. The extension of its file is the number
  /// of its last use.
  typealias Entries = NetworkLeastRecentlyUsed<String, Entry>

  private struct State: Sendable {
    var entries: Entries
    /// A folder whose files are not yet among the entries.
    var unread: URL?
  }

  /// nil for a store in memory.
  private let folder: URL?
  private let state: NetworkLock<State>
  /// Not a part of the state, which is locked while a file is written: a call starts on a thread of Swift's tasks.
  private let callsUnderWay = NetworkLock(NetworkCallsUnderWay())
  /// One thread for each store, because one piece of work waits for the one before. To list a folder with thousands of
  /// files takes a second.
  private let queue = DispatchQueue(label: "Wynd.ResponseStore", qos: .userInitiated)

  private struct InUse: Sendable {
    let path: String
    weak var store: ResponseStore?
  }
  /// The stores of this process in folders.
  private static let inUse = NetworkLock<[InUse]>([])

  /// The store in a folder, or a new one if none is in use.
  static func shared(in folder: URL, capacity: Int) throws -> ResponseStore {
    // The path of a folder that does not exist yet can differ: its links are not resolved.
    try create(folder)
    let path = folder.resolvingSymlinksInPath().path
    return try inUse.withLock { inUse in
      inUse.removeAll { $0.store == nil }
      if let store = inUse.first(where: { $0.path == path })?.store { return store }
      let store = try ResponseStore(in: folder, capacity: capacity)
      inUse.append(InUse(path: path, store: store))
      return store
    }
  }

  init(capacity: Int) {
    folder = nil
    state = NetworkLock(State(entries: Entries(capacity: capacity)))
  }

  /// Creates the folder, unless it exists. Throws a Foundation error if it cannot be created. The files in it are
  /// listed with the first use, in the background, because there may be thousands.
  init(in folder: URL, capacity: Int) throws {
    try Self.create(folder)
    self.folder = folder
    state = NetworkLock(State(entries: Entries(capacity: capacity, delete: Self.deleteFile), unread: folder))
  }

  func withEntries<Value: Sendable>(_ body: (inout Entries) -> Value) -> Value {
    state.withLock { state in
      if let folder = state.unread.take() { Self.add(filesIn: folder, to: &state.entries) }
      return body(&state.entries)
    }
  }

  /// Every call has to be ended with `end`.
  func start(_ url: String) { callsUnderWay.withLock { $0.start(url) } }
  func end(_ url: String) { callsUnderWay.withLock { $0.end(url) } }

  private static func add(filesIn folder: URL, to entries: inout Entries) {
    for use in uses(in: folder).sorted(by: { $0.number < $1.number }) {
      // Another process that uses the folder may have removed or renamed a file since it was listed.
      guard let values = try? use.file.resourceValues(forKeys: [.fileSizeKey]) else { continue }
      entries.lastUse = use.number - 1
      let size = values.fileSize ?? 0
      entries.insert(.file(use.file), size: size, for: use.file.deletingPathExtension().lastPathComponent)
    }
  }

  @Sendable private static func deleteFile(_ entry: Entry) {
    if case .file(let file) = entry { try? FileManager.default.removeItem(at: file) }
  }

  /// The response stored for this key, or nil. Reading it counts as a use.
  func response(for key: ResponseKey) async -> StoredResponse? { await inBackground { $0.read(key) } }

  private func read(_ key: ResponseKey) -> StoredResponse? {
    let name = Self.name(key)
    return withEntries { entries in
      switch entries.take(name) {
      case .memory(let storedKey, let response):
        // The name is only a hash.
        guard storedKey == key else { return nil }
        entries.insert(.memory(key, response), size: response.size, for: name)
        return response
      case .file(let file): return read(file, key, &entries)
      case nil: return nil
      }
    }
  }

  private func read(_ file: URL, _ key: ResponseKey, _ entries: inout Entries) -> StoredResponse? {
    let name = Self.name(key)
    // `Data(contentsOf:)` leaks 4 KB for an empty file on Linux.
    let data = (try? FileHandle(forReadingFrom: file).readToEnd()) ?? Data()
    let content = data.dropFirst(16)
    guard data.prefix(16) == Self.checksum(content, key),
      let response = try? PropertyListDecoder().decode(StoredResponse.self, from: content)
    else {
      Self.deleteFile(.file(file))
      return nil
    }
    let renamed = file.deletingLastPathComponent().appendingPathComponent("\(name).\(entries.lastUse + 1)")
    let isRenamed = (try? FileManager.default.moveItem(at: file, to: renamed)) != nil
    entries.insert(.file(isRenamed ? renamed : file), size: data.count, for: name)
    return response
  }

  /// Stores a response, unless it is larger than a quarter of the capacity, or not the newest.
  func store(_ response: StoredResponse, for key: ResponseKey) async {
    await inBackground { store in
      store.withEntries { entries in
        guard store.takeNewest(key, response.requestedAt) else { return }
        if let folder = store.folder { return Self.write(response, for: key, in: folder, &entries) }
        entries.insert(.memory(key, response), size: response.size, for: Self.name(key))
      }
    }
  }

  private func takeNewest(_ key: ResponseKey, _ requestedAt: Foundation.Date) -> Bool {
    callsUnderWay.withLock { $0.takeNewest(key, requestedAt: requestedAt) }
  }

  private static func write(
    _ response: StoredResponse, for key: ResponseKey, in folder: URL, _ entries: inout Entries
  ) {
    let name = name(key)
    let content = (try? PropertyListEncoder().encode(response)) ?? Data()
    let data = checksum(content, key) + content
    let file = folder.appendingPathComponent("\(name).\(entries.lastUse + 1)")
    do {
      // The user or the system may have removed the folder, with other caches of the app.
      try create(folder)
      // An incomplete file is deleted when it is read.
      try data.write(to: file)
    } catch {
      entries.remove(name)
      return deleteFile(.file(file))
    }
    try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    entries.insert(.file(file), size: data.count, for: name)
  }

  /// Removes the response for this key, because of one that was requested at this date, unless a newer one is stored.
  func remove(_ key: ResponseKey, requestedAt: Foundation.Date) async {
    await inBackground { store in
      store.withEntries { entries in
        if store.takeNewest(key, requestedAt) { entries.remove(Self.name(key)) }
      }
    }
  }

  /// Removes the responses for all keys with this URL.
  func removeAll(for url: String) async {
    let prefix = NetworkHash.text(of: url)
    await inBackground { store in
      store.withEntries { entries in
        entries.removeAll { $0.hasPrefix(prefix) }
        store.callsUnderWay.withLock { $0.remove(url, at: Foundation.Date()) }
      }
    }
  }

  /// Removes all responses, including those that another process, such as an app extension, has put into the folder
  /// since this store was made.
  func removeAll() async {
    await inBackground { store in
      store.withEntries { entries in
        entries.removeAll { _ in true }
        store.callsUnderWay.withLock { $0.remove(nil, at: Foundation.Date()) }
        guard let folder = store.folder else { return }
        for use in Self.uses(in: folder) { Self.deleteFile(.file(use.file)) }
      }
    }
  }

  /// Runs work that may read or write files. The threads of Swift's tasks must not wait for the disk.
  private func inBackground<Value: Sendable>(_ work: @escaping @Sendable (ResponseStore) -> Value) async -> Value {
    if folder == nil { return work(self) }
    return await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: work(self)) }
    }
  }

  /// Creates the folder, unless it exists, and makes it readable by the user only.
  private static func create(_ folder: URL) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
  }

  /// The files in the folder, with the number of their last use.
  private static func uses(in folder: URL) -> [(file: URL, number: Int)] {
    let found = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey])
    return (found ?? []).compactMap { file in
      // Someone else's file may have any extension. A larger number could overflow after many uses.
      guard let number = Int(file.pathExtension), 0...1 << 60 ~= number else { return nil }
      return (file, number)
    }
  }

  private static func name(_ key: ResponseKey) -> String {
    NetworkHash.text(of: key.url) + NetworkHash.text(of: key.text)
  }

  /// Includes the key, so that a file stored for another key is rejected too.
  private static func checksum(_ body: Data, _ key: ResponseKey) -> Data {
    Data(NetworkHash.text(of: Array(key.text.utf8) + body).utf8)
  }
}
