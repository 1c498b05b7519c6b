public import Foundation

/// Stores responses in a folder, up to a capacity in bytes. The least recently used response is evicted first.
///
/// The process may end while a file is written, so an incomplete or modified file is deleted when it is read. File
/// names contain the order of use, because reading file dates requires a privacy manifest.
///
/// Two processes may share a folder. Each may lose a response that the other one replaces or evicts.
nonisolated public final class DiskStore: ResponseStore {
  private let folder: URL
  /// The file of each name. A name is a hash of the URL, followed by a hash of the key; the extension of the file is
  /// the number of its last use.
  private let files: NetworkLock<NetworkLeastRecentlyUsed<String, URL>>

  /// Opens or creates the folder, which must not be used for anything else.
  ///
  /// - Parameters:
  ///   - folder: A folder in the app's caches directory.
  ///   - capacity: The capacity in bytes.
  /// - Throws: A Foundation error if the folder cannot be created or read.
  public init(_ folder: URL, capacity: Int = 50_000_000) throws {
    try Self.create(folder)
    let uses = try Self.uses(in: folder).sorted { $0.number < $1.number }
    var files = NetworkLeastRecentlyUsed<String, URL>(capacity: capacity) {
      try? FileManager.default.removeItem(at: $0)
    }
    for use in uses {
      // Another process that uses the folder may have removed or renamed a file since it was listed.
      guard let values = try? use.file.resourceValues(forKeys: [.fileSizeKey]) else { continue }
      files.lastUse = use.number - 1
      let size = values.fileSize ?? 0
      files.insert(use.file, size: size, for: use.file.deletingPathExtension().lastPathComponent)
    }
    self.folder = folder
    self.files = NetworkLock(files)
  }

  /// The response stored for this key, or nil. Reading it counts as a use.
  public func response(for key: ResponseKey) async -> StoredResponse? { await inBackground { $0.read(key) } }

  private func read(_ key: ResponseKey) -> StoredResponse? {
    let name = Self.name(key)
    return files.withLock { files in
      guard let file = files.take(name) else { return nil }
      // `Data(contentsOf:)` leaks 4 KB for an empty file on Linux.
      let data = (try? FileHandle(forReadingFrom: file).readToEnd()) ?? Data()
      let content = data.dropFirst(16)
      guard data.prefix(16) == Self.checksum(content, key),
        let response = try? PropertyListDecoder().decode(StoredResponse.self, from: content)
      else {
        files.delete(file)
        return nil
      }
      let renamed = folder.appendingPathComponent("\(name).\(files.lastUse + 1)")
      let isRenamed = (try? FileManager.default.moveItem(at: file, to: renamed)) != nil
      files.insert(isRenamed ? renamed : file, size: data.count, for: name)
      return response
    }
  }

  /// Stores a response, unless it is larger than a quarter of the capacity.
  public func store(_ response: StoredResponse, for key: ResponseKey) async {
    await inBackground { $0.write(response, for: key) }
  }

  private func write(_ response: StoredResponse, for key: ResponseKey) {
    let name = Self.name(key)
    let content = (try? PropertyListEncoder().encode(response)) ?? Data()
    let data = Self.checksum(content, key) + content
    files.withLock { files in
      let file = folder.appendingPathComponent("\(name).\(files.lastUse + 1)")
      do {
        // The user or the system may have removed the folder, with other caches of the app.
        try Self.create(folder)
        // An incomplete file is deleted when it is read.
        try data.write(to: file)
      } catch {
        files.remove(name)
        return files.delete(file)
      }
      try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
      files.insert(file, size: data.count, for: name)
    }
  }

  /// Removes the response for this key.
  public func remove(_ key: ResponseKey) async {
    await inBackground { store in store.files.withLock { $0.remove(Self.name(key)) } }
  }

  /// Removes the responses for all keys with this URL.
  public func removeAll(for url: String) async {
    let prefix = NetworkHash.text(of: url)
    await inBackground { store in store.files.withLock { $0.removeAll { $0.hasPrefix(prefix) } } }
  }

  /// Removes all responses, including those that another store, such as one of an app extension, has put into the
  /// folder since this one was opened.
  public func removeAll() async {
    await inBackground { store in
      store.files.withLock { files in
        files.removeAll { _ in true }
        for use in (try? Self.uses(in: store.folder)) ?? [] { files.delete(use.file) }
      }
    }
  }

  /// Runs work that reads or writes files. The threads of Swift's tasks must not wait for the disk.
  private func inBackground<Value: Sendable>(_ work: @escaping @Sendable (DiskStore) -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "Wynd.DiskStore", qos: .userInitiated).async {
        continuation.resume(returning: work(self))
      }
    }
  }

  /// Creates the folder, unless it exists, and makes it readable by the user only.
  private static func create(_ folder: URL) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
  }

  /// The files in the folder, with the number of their last use.
  private static func uses(in folder: URL) throws -> [(file: URL, number: Int)] {
    let found = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey])
    return found.compactMap { file in
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
