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
  private var handle: FileHandle?

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
    if !FileManager.default.fileExists(atPath: url.path),
      !FileManager.default.createFile(atPath: url.path, contents: nil)
    {
      throw .unusableFile(destination, reason: "its folder cannot be written to")
    }
    do {
      let handle = try FileHandle(forUpdating: url)
      guard Self.lock(handle) else { throw TransferError.inUse(url) }
      self.handle = handle
      if isKept, let known = try? JSONDecoder().decode(DownloadState.self, from: Data(contentsOf: stateURL)),
        known.source == source, known.validator != nil
      {
        state = known
        size = Int64(clamping: try handle.seekToEnd())
      } else {
        try handle.truncate(atOffset: 0)
      }
    } catch {
      throw error as? TransferError ?? .fileSystem(error)
    }
    // More than there should be is not what is known.
    if let total = state.total, size > total { try begin(DownloadState(source: source)) }
  }

  /// Forgets what has come.
  func begin(_ new: DownloadState) throws(TransferError) {
    do { try handle?.truncate(atOffset: 0) } catch { throw .fileSystem(error) }
    size = 0
    try save(new)
  }

  func append(_ data: Data) throws(TransferError) {
    do { try handle?.write(contentsOf: data) } catch {
      // What was written of it stays, and is what it says it is.
      size = (try? handle?.offset()).map { Int64(clamping: $0) } ?? size
      throw .fileSystem(error)
    }
    size += Int64(data.count)
  }

  /// Written before the first byte that it speaks of, so that a process that is killed leaves nothing that is not true.
  func save(_ new: DownloadState) throws(TransferError) {
    guard new != state || size == 0 else { return }
    state = new
    guard isKept else { return }
    do { try JSONEncoder().encode(new).write(to: stateURL, options: .atomic) } catch { throw .fileSystem(error) }
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

  /// Puts it where it belongs.
  func move(_ ifExists: DownloadOptions.IfExists) throws(TransferError) -> URL {
    do {
      try handle?.synchronize()
      switch ifExists {
      case .replace:
        try Self.replace(destination, by: url)
        return destination
      case .refuse:
        guard try link(to: destination) else { throw TransferError.destinationExists(destination) }
        return destination
      case .number:
        for number in 1..<10_000 {
          let target = number == 1 ? destination : Self.numbered(destination, number)
          if try link(to: target) { return target }
        }
        throw TransferError.destinationExists(destination)
      }
    } catch {
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
    if FileManager.default.fileExists(atPath: target.path) { return false }
    do { try FileManager.default.linkItem(at: url, to: target) } catch {
      if FileManager.default.fileExists(atPath: target.path) { return false }
      // Not every file system knows links.
      try FileManager.default.moveItem(at: url, to: target)
    }
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
      let error = url.withUnsafeFileSystemRepresentation { old in
        target.withUnsafeFileSystemRepresentation { new -> Int32? in
          guard let old, let new else { return 0 }
          return rename(old, new) == 0 ? nil : errno
        }
      }
      if let error { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
    #endif
  }

  /// Two that write to one file would mix what they get. The system lets go of it when the process ends.
  private static func lock(_ handle: FileHandle) -> Bool {
    #if os(Windows)
      return true
    #else
      return flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0
    #endif
  }

  /// `isDone`: the file is where it belongs.
  func close(isDone: Bool) {
    if isDone || !isKept || size == 0 {
      try? FileManager.default.removeItem(at: url)
      try? FileManager.default.removeItem(at: stateURL)
    }
    try? handle?.close()
    handle = nil
  }
}
