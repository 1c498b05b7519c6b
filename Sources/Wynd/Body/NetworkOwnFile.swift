import Foundation

/// A file that this library makes: a partial file or its state, a stored response, a multipart body. All of them are
/// opened here, because another user of the machine may have planted something with such a name.
///
/// `fstat` would say what an open file is, but needs a privacy manifest on Apple's platforms. So the name is looked up
/// before and after.
nonisolated struct NetworkOwnFile: Sendable {
  /// What has a name. Symbolic links are not followed.
  private struct Entry: Sendable {
    let isRegular: Bool
    /// Whether it is a regular file of this user that has no other name.
    let isOurs: Bool
    let device, number: UInt64?
  }

  let handle: FileHandle
  private let url: URL
  private let entry: Entry?

  private init(_ url: URL, _ flags: Int32, _ permissions: mode_t, _ entry: Entry? = nil) throws {
    // Neither follows a symbolic link nor waits for the other end of a pipe. Child processes do not inherit it.
    let descriptor = Foundation.open(url.path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, permissions)
    if descriptor < 0 { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    self.url = url
    self.entry = try entry ?? Self.lookUp(url)
  }

  /// Makes a file that has its final permissions from the start. Throws a `POSIXError` if something has this name.
  static func create(_ url: URL, permissions: mode_t) throws -> NetworkOwnFile {
    try NetworkOwnFile(url, O_RDWR | O_CREAT | O_EXCL, permissions)
  }

  /// Opens a file. Nil if there is none of ours: what has this name is not a regular file, is another user's, or has
  /// another name, too (a hard link). Throws if it cannot be opened, for example on a locked device.
  static func open(_ url: URL, _ flags: Int32 = O_RDONLY) throws -> NetworkOwnFile? {
    guard let entry = try lookUp(url), entry.isOurs else { return nil }
    let file = try NetworkOwnFile(url, flags, 0, entry)
    return file.hasItsName ? file : nil
  }

  /// Whether the name is still that of this file. Another process may have moved the file or made another one.
  var hasItsName: Bool {
    guard let now = try? Self.lookUp(url), now.isRegular else { return false }
    return now.device == entry?.device && now.number == entry?.number
  }

  /// Whether there is a file of ours.
  static func exists(_ url: URL) -> Bool { (try? lookUp(url))?.isOurs == true }

  /// Removes a regular file. Anything else with this name remains, such as a symbolic link or a folder.
  static func remove(_ url: URL) { if isRegular(url) { unlink(url.path) } }

  /// Removes the name of a regular file that is not ours, and of none that another process has just made for us.
  static func removeOther(_ url: URL) { if isRegular(url), !exists(url) { unlink(url.path) } }

  static func isRegular(_ url: URL) -> Bool { (try? lookUp(url))?.isRegular == true }

  private static func lookUp(_ url: URL) throws -> Entry? {
    guard let found = try attributes(of: url) else { return nil }
    func number(_ key: FileAttributeKey) -> UInt64? { (found[key] as? NSNumber)?.uint64Value }
    let isRegular = found[.type] as? FileAttributeType == .typeRegular
    let owner = number(.ownerAccountID)
    // On some file systems, all files have the owner of the folder, who may do anything there.
    let isOfUser = try owner == UInt64(geteuid()) || owner == ownerOfFolder(url)
    return Entry(
      isRegular: isRegular, isOurs: isRegular && isOfUser && number(.referenceCount) == 1,
      device: number(.systemNumber), number: number(.systemFileNumber))
  }

  private static func ownerOfFolder(_ url: URL) throws -> UInt64? {
    let folder = url.deletingLastPathComponent().resolvingSymlinksInPath()
    return (try attributes(of: folder)?[.ownerAccountID] as? NSNumber)?.uint64Value
  }

  private static func attributes(of url: URL) throws -> [FileAttributeKey: Any]? {
    do { return try FileManager.default.attributesOfItem(atPath: url.path) } catch CocoaError.fileReadNoSuchFile {
      return nil
    }
  }
}

/// A temporary file that only the current user can access. It is removed when this object is deallocated. If the
/// process is killed before, it stays until the system empties its folder. NetworkUploadCall makes the one of a form, on
/// a queue of networkInBackground, and releases it before it returns a success, or with the call.
nonisolated final class NetworkTemporaryFile: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("wynd-\(UUID().uuidString)")

  /// `write` passes the content to a closure in chunks.
  init(_ write: ((Data) throws -> Void) throws -> Void) throws {
    let handle = try NetworkOwnFile.create(url, permissions: 0o600).handle
    defer { try? handle.close() }
    try write { try handle.write(contentsOf: $0) }
  }

  deinit { unlink(url.path) }
}

/// An FNV-1a hash of 64 bits, the same in every process. It identifies text without storing it, but is not
/// cryptographic.
nonisolated enum NetworkHash {
  private static let offset: UInt64 = 0xcbf2_9ce4_8422_2325
  private static let prime: UInt64 = 0x0000_0100_0000_01b3

  /// 16 hexadecimal digits.
  static func text(of bytes: some Sequence<UInt8>) -> String {
    var hash = offset
    for byte in bytes {
      hash ^= UInt64(byte)
      hash &*= prime
    }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  static func text(of text: String) -> String { Self.text(of: text.utf8) }
}
