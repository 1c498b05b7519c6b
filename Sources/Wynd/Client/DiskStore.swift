public import Foundation

/// In a folder of its own, up to a number of bytes; what was used longest ago goes first. Survives the end of the process
/// at any moment; a file that cannot be read is dropped.
///
/// When an answer was last used is in the name of its file: the dates of files need a privacy manifest.
nonisolated public final class DiskStore: ResponseStore, @unchecked Sendable {
  private let folder: URL
  private let capacity: Int
  private let lock = NSLock()
  private var entries: [String: (lastUse: Int, size: Int)] = [:]
  private var size = 0
  private var uses = 0

  private struct Entry: Codable {
    var key: String
    var response: StoredResponse
  }

  /// Opens or makes the folder, which nothing else may use.
  ///
  /// - Parameters:
  ///   - folder: A folder, in the caches of the app.
  ///   - capacity: Bytes.
  /// - Throws: If the folder cannot be made or read.
  public init(_ folder: URL, capacity: Int = 50_000_000) throws {
    self.folder = folder
    self.capacity = capacity
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey]) {
      let parts = file.lastPathComponent.split(separator: ".")
      let bytes = try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize
      // What an interrupted write left behind.
      if file.pathExtension == "partial" || bytes == 0 { try? FileManager.default.removeItem(at: file) }
      guard parts.count == 2, parts[0].utf8.count == 32, let use = Int(parts[1]), use >= 0, let bytes, bytes > 0
      else { continue }
      let name = String(parts[0])
      if let other = entries[name] {
        try? FileManager.default.removeItem(at: url(name, min(use, other.lastUse)))
        if use < other.lastUse { continue }
        size -= other.size
      }
      entries[name] = (use, bytes)
      size += bytes
      uses = max(uses, min(use, Int.max / 2))
    }
    lock.withLock { makeRoom() }
  }

  /// What is stored; it counts as used.
  public func response(for key: String) -> StoredResponse? {
    let name = ResponseCache.stableHash(key)
    return lock.withLock {
      guard let entry = entries[name] else { return nil }
      guard let data = try? Data(contentsOf: url(name, entry.lastUse)),
        let stored = try? PropertyListDecoder().decode(Entry.self, from: data), stored.key == key
      else {
        drop(name)
        return nil
      }
      uses += 1
      if (try? FileManager.default.moveItem(at: url(name, entry.lastUse), to: url(name, uses))) != nil {
        entries[name]?.lastUse = uses
      }
      return stored.response
    }
  }

  /// Keeps it, unless it alone would take more than a quarter of the room, or cannot be written.
  public func store(_ response: StoredResponse, for key: String) {
    let name = ResponseCache.stableHash(key)
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    guard let data = try? encoder.encode(Entry(key: key, response: response)), data.count <= capacity / 4 else {
      return remove(key)
    }
    lock.withLock {
      uses += 1
      let new = uses
      // Under its own name only when it is whole.
      let partial = folder.appendingPathComponent("\(UUID().uuidString).partial")
      do {
        guard
          FileManager.default.createFile(
            atPath: partial.path, contents: data, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        try FileManager.default.moveItem(at: partial, to: url(name, new))
      } catch {
        try? FileManager.default.removeItem(at: partial)
        return
      }
      drop(name)
      entries[name] = (new, data.count)
      size += data.count
      makeRoom()
    }
  }

  /// Forgets one.
  public func remove(_ key: String) { lock.withLock { drop(ResponseCache.stableHash(key)) } }
  /// Forgets all.
  public func removeAll() { lock.withLock { for name in entries.keys { drop(name) } } }

  private func url(_ name: String, _ use: Int) -> URL { folder.appendingPathComponent("\(name).\(use)") }

  /// Under the lock.
  private func drop(_ name: String) {
    guard let entry = entries.removeValue(forKey: name) else { return }
    size -= entry.size
    try? FileManager.default.removeItem(at: url(name, entry.lastUse))
  }

  /// Under the lock.
  private func makeRoom() {
    while size > capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key { drop(oldest) }
  }
}
