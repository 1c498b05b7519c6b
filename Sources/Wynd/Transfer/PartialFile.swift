import Foundation

/// What has come of a file so far, in a hidden file beside its destination, so that the last step is a rename that happens
/// whole or not at all; and beside it, for a later process, what is known of the file.
///
/// It belongs to one download at a time, in this process and, by a lock of the system that ends with its process, beyond it.
/// There is no such lock on iOS and its kin: an app that is suspended while it holds one in a shared folder is terminated.
/// There, processes that share a folder must not download to the same place.
// Unchecked: it is used under the lock of its download.
nonisolated final class PartialFile: @unchecked Sendable {
  let url: URL
  private let destination: URL
  private let isKept: Bool
  private let handle: FileHandle
  private(set) var state: DownloadState
  /// Where the next bytes go: after a write that failed, behind what was written of it.
  var size: Int64 { Int64(clamping: (try? handle.offset()) ?? 0) }

  init(for destination: URL, from source: URL?, _ options: DownloadOptions) throws {
    try Self.check(destination, overwrites: options.overwrites)
    self.destination = destination
    isKept = options.resumes
    url = Self.url(for: destination)
    // A query may be a secret, and is not stored.
    let name = NetworkOrigin(source).text + (source?.path ?? "")
    state = DownloadState(source: name + (source?.query.map { "?" + Self.digest(of: $0) } ?? ""))
    handle = try Self.openLocked(url)
    do {
      // Read under the lock: another download may have replaced it.
      let stored = try? Self.file(Self.stateURL(url), O_RDONLY).readToEnd()
      let known = stored.flatMap { try? JSONDecoder().decode(DownloadState.self, from: $0) }
      let end = Int64(clamping: try handle.seekToEnd())
      if isKept, let known, known.source == state.source, known.validator != nil, end <= known.total ?? end {
        state = known
      } else {
        // It would describe what comes now.
        Self.remove(Self.stateURL(url))
        try cut(to: 0)
      }
    } catch {
      Self.close(handle, url)
      throw error
    }
  }

  /// Says what is wrong with the destination, before anything is sent.
  private static func check(_ destination: URL, overwrites: Bool) throws {
    func unusable(_ reason: String) -> TransferError { .unusableFile(destination, reason: reason) }
    guard destination.isFileURL, !destination.hasDirectoryPath, !destination.lastPathComponent.isEmpty else {
      throw unusable("not the URL of a file")
    }
    let keys: Set<URLResourceKey> = [.isRegularFileKey, .isDirectoryKey]
    guard (try? destination.deletingLastPathComponent().resourceValues(forKeys: keys))?.isDirectory == true else {
      throw unusable("its folder does not exist")
    }
    guard let found = try? destination.resolvingSymlinksInPath().resourceValues(forKeys: keys) else { return }
    if found.isDirectory == true { throw unusable("it is a folder") }
    // Not even to replace: a device, for example.
    if found.isRegularFile != true { throw unusable("it is not a regular file") }
    if !overwrites { throw TransferError.destinationExists(destination) }
  }

  // MARK: Its contents

  /// Forgets what has come.
  func begin(_ new: DownloadState) throws {
    try cut(to: 0)
    try save(new)
  }

  /// What came after this place was not a part of the file.
  func cut(to place: Int64) throws {
    try handle.truncate(atOffset: UInt64(max(0, place)))
  }

  func append(_ data: Data) throws { try handle.write(contentsOf: data) }

  /// Before the first byte that it describes, so that a process that is killed leaves nothing that is wrong.
  func save(_ new: DownloadState) throws {
    guard new != state || size == 0 else { return }
    state = new
    guard isKept else { return }
    // One that is not whole is no JSON, and the download starts over.
    Self.remove(Self.stateURL(url))
    try Self.file(Self.stateURL(url), O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      .write(contentsOf: JSONEncoder().encode(new))
  }

  /// To the disk, which takes time.
  func synchronize() { try? handle.synchronize() }

  /// Puts it in its place. Its state goes first: a process that is killed in between leaves a file that nothing is added to.
  func move(overwrites: Bool) throws {
    Self.remove(Self.stateURL(url))
    if overwrites { return try Self.replace(destination, by: url) }
    // A link is made or not, also if another process creates the file at the same moment.
    do { try FileManager.default.linkItem(at: url, to: destination) } catch {
      if FileManager.default.fileExists(atPath: destination.path) {
        throw TransferError.destinationExists(destination)
      }
      // Not every file system has links.
      return try FileManager.default.moveItem(at: url, to: destination)
    }
    try FileManager.default.removeItem(at: url)
  }

  /// `isDone`: the file is in its place.
  func close(isDone: Bool) {
    if !isDone, !isKept || size == 0 || state.validator == nil { Self.remove(url, Self.stateURL(url)) }
    Self.close(handle, url)
  }

  // MARK: Its names

  static func remove(for destination: URL) {
    let url = url(for: destination)
    guard let handle = try? openLocked(url) else { return }
    remove(url, stateURL(url))
    close(handle, url)
  }

  private static func remove(_ files: URL...) {
    for file in files { try? FileManager.default.removeItem(at: file) }
  }

  /// Derived from the name of the destination, and never longer than a file system allows.
  static func url(for destination: URL) -> URL {
    let name = destination.lastPathComponent
    return destination.deletingLastPathComponent()
      .appendingPathComponent(".\(name.utf8.count > 200 ? digest(of: name) : name).wynd-part")
  }

  private static func stateURL(_ url: URL) -> URL { url.appendingPathExtension("json") }

  /// FNV-1a: the same in every process.
  private static func digest(of text: String) -> String {
    String(text.utf8.reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }, radix: 36)
  }

  // MARK: The lock

  private static let inUse = NetworkLock<Set<String>>([])

  /// Opens the file, or a new one, for one download.
  private static func openLocked(_ url: URL) throws -> FileHandle {
    let path = url.standardizedFileURL.path
    guard inUse.withLock({ $0.insert(path).inserted }) else { throw TransferError.inUse(url) }
    do {
      if let handle = try? file(url, O_RDWR), try isUsable(handle, url) { return handle }
      let handle = try file(url, O_RDWR | O_CREAT | O_EXCL, mode: 0o666)
      if lock(handle, LOCK_EX | LOCK_NB) == EWOULDBLOCK { throw TransferError.inUse(url) }
      return handle
    } catch {
      _ = inUse.withLock { $0.remove(path) }
      throw error
    }
  }

  /// False if the file was removed, because its contents belong to another name.
  private static func isUsable(_ handle: FileHandle, _ url: URL) throws -> Bool {
    if lock(handle, LOCK_EX | LOCK_NB) == EWOULDBLOCK { throw TransferError.inUse(url) }
    // The name is that of another file if another download has put this one in its place since it was opened. A second
    // opening of the same file is refused the lock.
    let again = try file(url, O_RDWR)
    defer { try? again.close() }
    if lock(again, LOCK_EX | LOCK_NB) == 0 { throw TransferError.inUse(url) }
    let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
    guard attributes[.type] as? FileAttributeType == .typeRegular else {
      throw TransferError.unusableFile(url, reason: "not a regular file")
    }
    if (attributes[.referenceCount] as? NSNumber)?.intValue == 1 { return true }
    // A process was killed before it could remove this name of a finished file, or somebody else has planted a link.
    try FileManager.default.removeItem(at: url)
    return false
  }

  private static func close(_ handle: FileHandle, _ url: URL) {
    // A child process that was started meanwhile has a copy of the descriptor, which keeps the lock.
    _ = lock(handle, LOCK_UN)
    try? handle.close()
    _ = inUse.withLock { $0.remove(url.standardizedFileURL.path) }
  }

  /// 0, or an error number: a file system without locks refuses nobody.
  private static func lock(_ handle: FileHandle, _ operation: Int32) -> Int32 {
    #if os(Linux) || os(macOS) || os(Android)
      flock(handle.fileDescriptor, operation) == 0 ? 0 : errno
    #else
      ENOTSUP
    #endif
  }

  // MARK: The file system

  /// Not through a link, which somebody else may have planted, and not for child processes.
  private static func file(_ url: URL, _ flags: Int32, mode: mode_t = 0) throws -> FileHandle {
    #if compiler(>=6.2)
      let descriptor = unsafe open(url.path, flags | O_NOFOLLOW | O_CLOEXEC, mode)
    #else
      let descriptor = open(url.path, flags | O_NOFOLLOW | O_CLOEXEC, mode)
    #endif
    if descriptor < 0 { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  private static func replace(_ target: URL, by file: URL) throws {
    #if compiler(>=6.2)
      let isDone = unsafe rename(file.path, target.path) == 0
    #else
      let isDone = rename(file.path, target.path) == 0
    #endif
    if !isDone { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }
}
