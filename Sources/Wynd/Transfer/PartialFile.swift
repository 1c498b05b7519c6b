import Foundation

/// What has come of a file so far, beside the place where it will be, so that the last step is a move that is whole or
/// not done at all: `.wynd-TOKEN.part`, and `.wynd-TOKEN.json` with what is known of it.
nonisolated final class PartialFile: @unchecked Sendable {
  let destination: URL
  let url: URL
  private let stateURL: URL
  /// A later call may go on with it.
  private let isKept: Bool
  private(set) var state: DownloadState
  private(set) var size = Int64(0)
  // Under the lock of the download, as everything that changes.
  private let lock: FileLock
  private var handle: FileHandle { lock.handle }

  /// Opens what an earlier call has left, or begins.
  init(for destination: URL, source: String, token: ResumeToken?, ifExists: DownloadOptions.IfExists)
    throws(TransferError)
  {
    guard destination.isFileURL, !destination.hasDirectoryPath, !destination.lastPathComponent.isEmpty else {
      throw .unusableFile(destination, reason: "not the URL of a file")
    }
    let folder = destination.deletingLastPathComponent()
    guard Self.values(folder)?.isDirectory == true else {
      throw .unusableFile(destination, reason: "its folder does not exist")
    }
    if let there = Self.values(destination.resolvingSymlinksInPath()) {
      if there.isDirectory == true { throw .unusableFile(destination, reason: "it is a folder") }
      // To take the place of a device would harm more than the caller.
      if there.isRegularFile != true { throw .unusableFile(destination, reason: "it is no regular file") }
      if ifExists == .refuse { throw .destinationExists(destination) }
    }
    self.destination = destination
    isKept = token != nil
    let token = token ?? ResumeToken()
    url = token.partial(in: folder)
    stateURL = token.state(in: folder)
    state = DownloadState(source: source)
    do {
      var kept: FileLock?
      if FileManager.default.fileExists(atPath: url.path) {
        guard let lock = try FileLock(url) else { throw TransferError.inUse(url) }
        kept = lock
      }
      // Read under the lock: who held it a moment ago may have begun another file.
      let known = try? JSONDecoder().decode(DownloadState.self, from: Data(contentsOf: stateURL))
      if isKept, let kept, let known, known.source == source, known.validator != nil {
        lock = kept
        state = known
        size = Int64(clamping: try kept.handle.seekToEnd())
      } else {
        // Never emptied: without its state it may be a file that is whole, under its second name.
        if kept != nil { try FileManager.default.removeItem(at: url) }
        kept?.release()
        guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
          throw TransferError.unusableFile(destination, reason: "its folder cannot be written to")
        }
        guard let new = try FileLock(url) else { throw TransferError.inUse(url) }
        lock = new
      }
    } catch {
      throw error as? TransferError ?? .fileSystem(error)
    }
    // More than there should be is not what is known.
    if let total = state.total, size > total { try begin(DownloadState(source: source)) }
  }

  /// Forgets what has come.
  func begin(_ new: DownloadState) throws(TransferError) {
    try cut(to: 0)
    try save(new)
  }

  /// What came after this place was no part of the file.
  func cut(to place: Int64) throws(TransferError) {
    do { try handle.truncate(atOffset: UInt64(max(0, place))) } catch { throw .fileSystem(error) }
    size = place
  }

  func append(_ data: Data) throws(TransferError) {
    do { try handle.write(contentsOf: data) } catch {
      // What was written of it stays, and is what it says it is.
      size = (try? handle.offset()).map { Int64(clamping: $0) } ?? size
      throw .fileSystem(error)
    }
    size += Int64(data.count)
  }

  /// Written before the first byte that it speaks of, so that a process that is killed leaves nothing that is not true.
  func save(_ new: DownloadState) throws(TransferError) {
    guard new != state || size == 0 else { return }
    state = new
    guard isKept else { return }
    // Under a name that is known, so that nothing is left behind.
    let fresh = stateURL.appendingPathExtension("new")
    do {
      try JSONEncoder().encode(new).write(to: fresh)
      try Self.replace(stateURL, by: fresh)
    } catch {
      try? FileManager.default.removeItem(at: fresh)
      throw .fileSystem(error)
    }
  }

  /// Bytes from the beginning, piece by piece.
  func read(_ take: (Data) -> Void) throws(TransferError) {
    do {
      let reader = try FileHandle(forReadingFrom: url)
      defer { try? reader.close() }
      while let piece = try reader.read(upToCount: 262_144), !piece.isEmpty { take(piece) }
    } catch {
      throw .fileSystem(error)
    }
  }

  /// To the disk: that takes time.
  func synchronize() { try? handle.synchronize() }

  /// Puts it where it belongs. Its state goes first: a process that is killed in between leaves a file that nobody adds to.
  func move(_ ifExists: DownloadOptions.IfExists) throws(TransferError) -> URL {
    do {
      try? FileManager.default.removeItem(at: stateURL)
      switch ifExists {
      case .replace:
        try Self.replace(destination, by: url)
        return destination
      case .refuse:
        if try link(to: destination) { return destination }
      case .number:
        for number in 1..<10_000 {
          let target = number == 1 ? destination : Self.numbered(destination, number)
          if try link(to: target) { return target }
        }
      }
      throw TransferError.destinationExists(destination)
    } catch {
      let current = state
      state = DownloadState(source: "")
      try save(current)
      throw error as? TransferError ?? .fileSystem(error)
    }
  }

  /// `file.tar.gz` → `file 2.tar.gz`
  static func numbered(_ url: URL, _ number: Int) -> URL {
    let name = url.lastPathComponent
    let dot = name.dropFirst().firstIndex(of: ".") ?? name.endIndex
    return url.deletingLastPathComponent().appendingPathComponent("\(name[..<dot]) \(number)\(name[dot...])")
  }

  /// False if there is one: a link is made or not, whoever else makes one at the same moment.
  private func link(to target: URL) throws -> Bool {
    do { try FileManager.default.linkItem(at: url, to: target) } catch {
      if FileManager.default.fileExists(atPath: target.path) { return false }
      // Not every file system knows links.
      try FileManager.default.moveItem(at: url, to: target)
      return true
    }
    try? FileManager.default.removeItem(at: url)
    return true
  }

  /// Nil if there is nothing.
  private static func values(_ url: URL) -> URLResourceValues? {
    try? url.resourceValues(forKeys: [.isRegularFileKey, .isDirectoryKey])
  }

  private static func replace(_ target: URL, by url: URL) throws {
    #if os(Windows)
      _ = try FileManager.default.replaceItemAt(target, withItemAt: url)
    #else
      #if compiler(>=6.2)
        let isDone = unsafe rename(url.path, target.path) == 0
      #else
        let isDone = rename(url.path, target.path) == 0
      #endif
      if !isDone { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    #endif
  }

  /// `isDone`: the file is where it belongs.
  func close(isDone: Bool) {
    if !isDone, !isKept || size == 0 {
      for leftover in [url, stateURL] { try? FileManager.default.removeItem(at: leftover) }
    }
    lock.release()
  }
}
