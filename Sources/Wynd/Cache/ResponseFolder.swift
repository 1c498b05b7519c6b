import Foundation

/// Stored responses in files, which only the user can read. The queue of ResponseStore uses them. Beyond the capacity,
/// the least recently used ones go (NetworkLeastRecentlyUsed).
///
/// The name of a file is a hash of the target, followed by a hash of the key. Its extension is the number of the last
/// use, because reading file dates requires a privacy manifest. Whatever has another name, or is not a regular file, is
/// not ours: it is neither opened nor removed.
///
/// The process may end while a file is written, so an incomplete or modified file is removed when it is read. One that
/// cannot be opened, such as on a locked device, is kept.
nonisolated struct ResponseFolder: ResponseStorage {
  /// What a file contains, after a checksum.
  private struct Content: Codable {
    let key: ResponseKey
    let entry: ResponseEntry
  }
  private static let checksumLength = 16

  private let folder: URL
  private var files: NetworkLeastRecentlyUsed<String, URL>
  private var isListed = false

  /// Creates the folder, unless it exists. Throws a Foundation error if it cannot be created. The files in it are
  /// listed with the first use, because there may be thousands.
  init(_ folder: URL, capacity: Int) throws {
    try Self.create(folder)
    self.folder = folder
    files = NetworkLeastRecentlyUsed(capacity: capacity, delete: { NetworkOwnFile.remove($0) })
  }

  // MARK: Entries

  mutating func entry(for key: ResponseKey) -> ResponseEntry? {
    list()
    let name = Self.name(key)
    guard let file = files.entries[name]?.value, let data = Self.read(file) else { return nil }
    guard let entry = Self.entry(in: data, for: key) else {
      files.remove(name)
      return nil
    }
    _ = files.take(name)
    let renamed = url(name)
    let isRenamed = (try? FileManager.default.moveItem(at: file, to: renamed)) != nil
    files.insert(isRenamed ? renamed : file, size: data.count, for: name)
    return entry
  }

  mutating func insert(_ entry: ResponseEntry, for key: ResponseKey) {
    list()
    let name = Self.name(key)
    // Also if the new one cannot be written: the earlier one would be served as if it were the newest.
    files.remove(name)
    let file = url(name)
    let data = Self.data(entry, for: key)
    if isListed, Self.write(data, to: file, in: folder) { files.insert(file, size: data.count, for: name) }
  }

  mutating func remove(_ key: ResponseKey) {
    list()
    files.remove(Self.name(key))
  }

  /// Nil removes the files, too, that another process, such as an app extension, has written since the folder was
  /// listed.
  mutating func removeAll(for target: String?) {
    list()
    guard let target else {
      files.removeAll { _ in true }
      return Self.uses(in: folder)?.forEach { NetworkOwnFile.remove($0.file) } ?? ()
    }
    let prefix = NetworkHash.text(of: target)
    files.removeAll { $0.hasPrefix(prefix) }
  }

  /// Adds the files of an earlier process, once. Without a descriptor, for example, a folder cannot be listed.
  private mutating func list() {
    guard !isListed, let uses = Self.uses(in: folder) else { return }
    isListed = true
    for use in uses.sorted(by: { $0.number < $1.number }) {
      // Another process that uses the folder may have removed or renamed a file since it was listed.
      guard let size = try? use.file.resourceValues(forKeys: [.fileSizeKey]).fileSize else { continue }
      files.lastUse = use.number - 1
      files.insert(use.file, size: size, for: use.file.deletingPathExtension().lastPathComponent)
    }
  }

  // MARK: Names

  private static func name(_ key: ResponseKey) -> String {
    NetworkHash.text(of: key.target) + NetworkHash.text(of: key.withoutSecrets.bytes)
  }

  /// The file for the next use.
  private func url(_ name: String) -> URL { folder.appendingPathComponent("\(name).\(files.lastUse + 1)") }

  /// Our files in the folder, with the number of their last use. Nil if the folder cannot be listed.
  private static func uses(in folder: URL) -> [(file: URL, number: Int64)]? {
    let found = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey])
    return found?.compactMap { file in
      let name = file.deletingPathExtension().lastPathComponent
      let isOurs = name.utf8.count == 32 && name.allSatisfy(\.isHexDigit)
      guard isOurs, let number = NetworkDigits.number(file.pathExtension) else { return nil }
      return NetworkOwnFile.isRegular(file) ? (file, number) : nil
    }
  }

  // MARK: Files

  private static func data(_ entry: ResponseEntry, for key: ResponseKey) -> Data {
    let content = (try? PropertyListEncoder().encode(Content(key: key.withoutSecrets, entry: entry))) ?? Data()
    return Data(NetworkHash.text(of: content).utf8) + content
  }

  /// Nil if the file is damaged, or is for another key.
  private static func entry(in data: Data, for key: ResponseKey) -> ResponseEntry? {
    let content = data.dropFirst(checksumLength)
    guard data.prefix(checksumLength) == Data(NetworkHash.text(of: content).utf8) else { return nil }
    guard let content = try? PropertyListDecoder().decode(Content.self, from: content) else { return nil }
    return content.key == key.withoutSecrets ? content.entry : nil
  }

  /// Nil if the file cannot be read, or is not ours.
  private static func read(_ url: URL) -> Data? {
    do { return try NetworkOwnFile.open(url).map { try $0.handle.readToEnd() ?? Data() } } catch { return nil }
  }

  /// Returns false if the file cannot be written. A file that another process has stored under this name is replaced.
  private static func write(_ data: Data, to file: URL, in folder: URL) -> Bool {
    // The user or the system may have removed the folder, with other caches of the app.
    guard (try? create(folder)) != nil else { return false }
    NetworkOwnFile.remove(file)
    guard let new = try? NetworkOwnFile.create(file, permissions: 0o600) else { return false }
    do {
      try new.handle.write(contentsOf: data)
      return true
    } catch {
      NetworkOwnFile.remove(file)
      return false
    }
  }

  /// Creates the folder, which only the user can read, unless it exists.
  static func create(_ folder: URL) throws {
    let parent = folder.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    // With its final permissions. Foundation would set them afterwards.
    if mkdir(folder.path, 0o700) == 0 { return }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }
}
