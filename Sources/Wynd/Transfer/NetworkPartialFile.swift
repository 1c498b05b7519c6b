public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The part of a file that has been downloaded so far. It is a hidden file next to the destination, so that the
/// download ends with an atomic rename. A second file stores the state that a later process needs to resume the
/// download.
///
/// Only one download can use it at a time, in this process or another one: it is locked while it is open (`flock`).
// Unchecked, because all changes are made under the lock of the download.
nonisolated final class NetworkPartialFile: @unchecked Sendable {
  let url: URL
  /// The partial files that downloads of this process use. The lock of a file is not enough among them: it stays with
  /// the file when that is moved, and the next one has the same name.
  static let used = NetworkLock<Set<String>>([])
  private let destination: URL
  private let isKept: Bool
  /// A temporary folder of its own on the volume of the destination; nil if the file is beside the destination.
  private let replacementFolder: URL?
  /// Whether another request may get a different file of the same date: for another user, or from another URL.
  private let needsTag: Bool
  private let file: NetworkOwnFile
  var handle: FileHandle { file.handle }
  private(set) var state: NetworkDownloadState
  private var wasMoved = false
  /// The offset of the next write. If a write fails, this includes the bytes that it wrote.
  var size: Int64 { Int64(clamping: (try? handle.offset()) ?? 0) }

  /// `name` identifies the file in place of the URL. `secretFields`: header fields that hold a credential, whatever they
  /// are called. `place` is for tests.
  init(
    for destination: URL, from request: URLRequest, overwrites: Bool, resumes: Bool, name: String? = nil,
    secretFields: Set<String> = [], place: URL? = nil
  ) throws {
    try Self.check(destination, overwrites: overwrites)
    self.destination = destination
    let hasCredential = (request.allHTTPHeaderFields ?? [:]).contains { name, value in
      NetworkSensitiveHeader.matches(name, value, known: secretFields)
    }
    needsTag = hasCredential || name != nil
    let beside = place ?? Self.url(for: destination)
    do {
      file = try Self.openForOneDownload(beside, destination)
      url = beside
      isKept = resumes
      replacementFolder = nil
    } catch let refusal as TransferError {
      guard case .unusableFile(destination, _) = refusal, let folder = Self.replacementFolder(for: destination)
      else { throw refusal }
      let inFolder = folder.appendingPathComponent(destination.lastPathComponent)
      file = try Self.openForOneDownload(inFolder, destination)
      url = inFolder
      // A later call would not find it.
      isKept = false
      replacementFolder = folder
    }
    // A URL can contain a secret, so only its hash is stored. It contains no space, so no name is taken for a URL.
    var source = "\(request.networkMethod) \(request.url?.absoluteString ?? "")"
    if let name { source = "\(request.networkMethod) as \(name)" }
    state = NetworkDownloadState(source: NetworkHash.text(of: source))
    do {
      _ = try handle.seekToEnd()
      // Read after opening, because another download may have replaced it.
      if isKept, let known = try Self.state(in: stateURL), canResume(known) {
        state = known
      } else {
        // The stored state would not describe the bytes that follow.
        NetworkOwnFile.remove(stateURL)
        try cut(to: 0)
      }
    } catch {
      // What cannot be read, for example on a locked device, remains for a later download.
      release()
      throw error
    }
  }

  /// Whether the stored state describes this download and the bytes of its partial file.
  private func canResume(_ known: NetworkDownloadState) -> Bool {
    // The process may have been killed between moving a file and removing its state.
    if size == 0 { return false }
    if known.source != state.source || known.validator == nil { return false }
    if !mayOutliveCall(known) { return false }
    guard let total = known.total else { return true }
    return size <= total
  }

  /// Whether a later call may resume the download. Another user may make that call, or it may have another URL. The file
  /// can have the same date then, but not the same entity tag (RFC 9110 §8.8.1).
  private func mayOutliveCall(_ state: NetworkDownloadState) -> Bool {
    guard let validator = state.validator else { return true }
    return NetworkDownloadDecision.isTag(validator) || !needsTag
  }

  /// The most that is read of a state, which has some hundred bytes. Someone else may have planted a file of gigabytes.
  private static let longestState = 65_536

  /// The state in a file; nil if there is none that can be used. Throws if it cannot be read.
  private static func state(in url: URL) throws -> NetworkDownloadState? {
    let data = try NetworkOwnFile.open(url)?.handle.read(upToCount: longestState + 1)
    guard let data, data.count <= longestState else { return nil }
    return try? JSONDecoder().decode(NetworkDownloadState.self, from: data)
  }

  /// Throws if the destination cannot be used, before anything is sent.
  private static func check(_ destination: URL, overwrites: Bool) throws {
    func unusable(_ reason: String) -> TransferError { .unusableFile(destination, reason: reason) }
    guard destination.isFileURL, !destination.hasDirectoryPath, !destination.lastPathComponent.isEmpty else {
      throw unusable("not the URL of a file")
    }
    let keys: Set<URLResourceKey> = [.isRegularFileKey, .isDirectoryKey]
    // The resource values of a symbolic link, such as /tmp on a Mac, are not those of the folder that it leads to.
    let folder = destination.deletingLastPathComponent()
    let folderExists = [folder, folder.resolvingSymlinksInPath()].contains { url in
      (try? url.resourceValues(forKeys: keys))?.isDirectory == true
    }
    if !folderExists { throw unusable("its folder does not exist") }
    guard let found = try? destination.resolvingSymlinksInPath().resourceValues(forKeys: keys) else { return }
    // A folder or a device must not be replaced, even if `overwrites` is true.
    if found.isRegularFile != true { throw unusable("it is not a regular file") }
    if !overwrites { throw TransferError.destinationExists(destination) }
  }

  // MARK: Contents

  /// Removes everything after this offset.
  func cut(to place: Int64) throws { try handle.truncate(atOffset: UInt64(max(0, place))) }

  /// Prepares for a body, and stores the state of what follows, before its first byte: a killed process must not leave
  /// a wrong state.
  func begin(_ new: NetworkDownloadState, _ body: NetworkDownloadBody) throws {
    try cut(to: body.kept)
    if new != state || body.kept == 0 {
      state = new
      try storeState()
    }
    try handle.seek(toOffset: UInt64(max(0, body.start)))
  }

  /// Writes the next bytes of a body. Those that the file has already are compared.
  ///
  /// - Returns: Whether they are the same.
  func write(_ data: Data, _ body: NetworkDownloadBody) throws -> Bool {
    let repeated = data.prefix(Int(clamping: max(0, body.kept - size)))
    if !repeated.isEmpty, try handle.read(upToCount: repeated.count) != repeated { return false }
    try handle.write(contentsOf: data.dropFirst(repeated.count))
    return true
  }

  private func storeState() throws {
    guard isKept else { return }
    // A state that was only partly written is not valid JSON, so a later download starts over.
    NetworkOwnFile.remove(stateURL)
    if !mayOutliveCall(state) { return }
    do {
      let file = try NetworkOwnFile.create(stateURL, permissions: 0o600)
      try file.handle.write(contentsOf: JSONEncoder().encode(state))
    } catch POSIXError.EEXIST {
      // Something else has this name. The download cannot be resumed then.
    }
  }

  /// Moves the file to its destination. The state is removed afterwards, so that the next download can move the file if
  /// this fails.
  func move(overwrites: Bool) throws {
    if !file.hasItsName { throw TransferError.unusableFile(url, reason: "another process has replaced it") }
    if overwrites { try replaceDestination() } else { try moveToFreeDestination() }
    NetworkOwnFile.remove(stateURL)
    wasMoved = true
  }

  private func replaceDestination() throws {
    if rename(url.path, destination.path) != 0 { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }

  /// Another process may make the destination at the same time. A link replaces nothing. On a file system without hard
  /// links, an empty file takes the name first.
  private func moveToFreeDestination() throws {
    if link(url.path, destination.path) == 0 {
      unlink(url.path)
    } else if errno == EEXIST {
      throw TransferError.destinationExists(destination)
    } else {
      do { _ = try NetworkOwnFile.create(destination, permissions: 0o666) } catch POSIXError.EEXIST {
        throw TransferError.destinationExists(destination)
      }
      try replaceDestination()
    }
  }

  /// Removes the file if no later download can resume it. Another process may have taken its name.
  func close() {
    // Only a download that resumes stores a state.
    let hasStoredState = NetworkOwnFile.exists(stateURL)
    let canBeResumed = isKept && hasStoredState && size > 0 && state.validator != nil
    if !canBeResumed, !wasMoved, file.hasItsName {
      for file in [url, stateURL] { NetworkOwnFile.remove(file) }
    }
    release()
  }

  private func release() {
    // This releases the lock.
    try? handle.close()
    Self.used.withLock { _ = $0.remove(url.path) }
    if let replacementFolder { try? FileManager.default.removeItem(at: replacementFolder) }
  }

  // MARK: Names

  /// Derived from the name of the destination, and shortened if it would be too long for the file system.
  static func url(for destination: URL) -> URL {
    var name = destination.lastPathComponent
    if name.utf8.count > 200 { name = NetworkHash.text(of: name) }
    return destination.deletingLastPathComponent().appendingPathComponent(".\(name).wynd-part")
  }

  private var stateURL: URL { url.appendingPathExtension("json") }

  // MARK: File system

  /// For a folder that accepts the destination, but no hidden file beside it: a sandboxed Mac app may write only to the
  /// path that a person has chosen in a panel. Nil if the destination is refused, too, before anything is sent.
  private static func replacementFolder(for destination: URL) -> URL? {
    do {
      if access(destination.path, F_OK) == 0 {
        if access(destination.path, W_OK) != 0 { return nil }
      } else {
        _ = try NetworkOwnFile.create(destination, permissions: 0o666)
        unlink(destination.path)
      }
      return try FileManager.default.url(
        for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: destination, create: true)
    } catch { return nil }
  }

  /// Opens the file for one download, and creates it if it does not exist.
  private static func openForOneDownload(_ url: URL, _ destination: URL) throws -> NetworkOwnFile {
    let isFree = used.withLock { $0.insert(url.path).inserted }
    if !isFree { throw TransferError.inUse(destination) }
    do { return try openLocked(url, destination) } catch {
      used.withLock { _ = $0.remove(url.path) }
      throw error
    }
  }

  private static func openLocked(_ url: URL, _ destination: URL) throws -> NetworkOwnFile {
    let file = try openOrCreate(url, destination)
    if flock(file.handle.fileDescriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
      throw TransferError.inUse(destination)
    }
    // The download that has just released the lock may have moved or removed the file.
    if !file.hasItsName { throw TransferError.inUse(destination) }
    return file
  }

  private static func openOrCreate(_ url: URL, _ destination: URL) throws -> NetworkOwnFile {
    do {
      if let file = try NetworkOwnFile.open(url, O_RDWR) { return file }
      // A file of another user, or one with another name, such as that of a backup: only its name here is removed.
      NetworkOwnFile.removeOther(url)
      return try NetworkOwnFile.create(url, permissions: 0o666)
    } catch POSIXError.EEXIST {
      // Another download has just made the file.
      if NetworkOwnFile.exists(url) { throw TransferError.inUse(destination) }
      throw TransferError.unusableFile(url, reason: "not a file of this user")
    } catch POSIXError.ENOENT {
      // Another download has just moved the file.
      throw TransferError.inUse(destination)
    } catch POSIXError.EACCES, POSIXError.EPERM, POSIXError.EROFS {
      throw TransferError.unusableFile(destination, reason: "its folder cannot be written to")
    }
  }
}

/// What a download with `resumes: true` has kept beside its destination.
///
/// ```swift
/// if NetworkPartialDownload.exists(for: file) { show("Continue the download") }
/// ```
nonisolated public enum NetworkPartialDownload: Sendable {
  /// Whether there is a partial file for this destination.
  public static func exists(for destination: URL) -> Bool {
    FileManager.default.fileExists(atPath: NetworkPartialFile.url(for: destination).path)
  }

  /// Removes the partial file for this destination, unless a download is writing to it.
  public static func remove(for destination: URL) {
    let request = URLRequest(url: destination)
    try? NetworkPartialFile(for: destination, from: request, overwrites: true, resumes: false).close()
  }
}
