public import Foundation

/// Stores responses in a folder, up to a capacity in bytes. The least recently used response is evicted first.
///
/// The process may end while a file is written, so an incomplete or modified file is deleted when it is read. File
/// names contain the order of use, because reading file dates requires a privacy manifest.
nonisolated public final class DiskStore: ResponseStore {
  private let folder: URL
  private let files: NetworkLock<NetworkLeastRecentlyUsed<URL>>

  /// Opens or creates the folder, which must not be used for anything else.
  ///
  /// - Parameters:
  ///   - folder: A folder in the app's caches directory.
  ///   - capacity: The capacity in bytes.
  /// - Throws: A Foundation error if the folder cannot be created or read.
  public init(_ folder: URL, capacity: Int = 50_000_000) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
    let found = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey])
      .compactMap { file in Int(file.pathExtension).flatMap { 0...1 << 60 ~= $0 ? (file: file, use: $0) : nil } }
    var files = NetworkLeastRecentlyUsed<URL>(capacity: capacity) { try? FileManager.default.removeItem(at: $0) }
    for (file, use) in found.sorted(by: { $0.use < $1.use }) {
      files.lastUse = use - 1
      let size = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
      files.insert(file, size: size, for: file.deletingPathExtension().lastPathComponent)
    }
    (self.folder, self.files) = (folder, NetworkLock(files))
  }

  /// The response stored for this key, or nil. Reading it counts as a use.
  public func response(for key: String) -> StoredResponse? {
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
      try? FileManager.default.moveItem(at: file, to: renamed)
      files.insert(renamed, size: data.count, for: name)
      return response
    }
  }

  /// Stores a response, unless it is larger than a quarter of the capacity.
  public func store(_ response: StoredResponse, for key: String) {
    let name = Self.name(key)
    let content = (try? PropertyListEncoder().encode(response)) ?? Data()
    let data = Self.checksum(content, key) + content
    files.withLock { files in
      let file = folder.appendingPathComponent("\(name).\(files.lastUse + 1)")
      // An incomplete file is deleted when it is read.
      try? data.write(to: file)
      try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
      files.insert(file, size: data.count, for: name)
    }
  }

  /// Removes the responses for all keys with the same URL.
  public func remove(_ key: String) {
    let url = Self.name(key).prefix(16)
    files.withLock { $0.removeAll { $0.hasPrefix(url) } }
  }

  /// Removes all responses.
  public func removeAll() { files.withLock { $0.removeAll { _ in true } } }

  /// A hash of the URL, followed by a hash of the key.
  private static func name(_ key: String) -> String {
    NetworkStoreKey.hash(NetworkStoreKey.url(key).utf8) + NetworkStoreKey.hash(key.utf8)
  }

  /// Includes the key, so that a file stored for another key is rejected too.
  private static func checksum(_ body: Data, _ key: String) -> Data {
    Data(NetworkStoreKey.hash(Array(key.utf8) + body).utf8)
  }
}
