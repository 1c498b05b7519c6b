import Foundation

/// A file that this library makes: a partial file or its state, a stored response, a multipart body. All of them are
/// opened here, because another user of the machine may have planted something with such a name.
///
/// `fstat` would say what an open file is, but needs a privacy manifest on Apple's platforms. So the name is looked up
/// before and after.
nonisolated struct NetworkOwnFile: Sendable {
  private enum Found: Equatable {
    case nothing
    /// A regular file of this user that has no other name.
    case ours(device: UInt64, number: UInt64)
    case otherRegularFile
    case notRegular
  }

  let handle: FileHandle
  private let url: URL
  private let found: Found

  private init(_ url: URL, _ flags: Int32, _ permissions: mode_t, _ found: Found? = nil) throws {
    // Neither follows a symbolic link nor waits for the other end of a pipe. Child processes do not inherit it.
    let descriptor = Foundation.open(url.path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, permissions)
    if descriptor < 0 { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    self.url = url
    self.found = try found ?? Self.lookUp(url)
  }

  /// Makes a file that has its final permissions from the start. Throws a `POSIXError` if something has this name.
  static func create(_ url: URL, permissions: mode_t) throws -> NetworkOwnFile {
    try NetworkOwnFile(url, O_RDWR | O_CREAT | O_EXCL, permissions)
  }

  /// Opens a file. Nil if there is none of ours: what has this name is not a regular file, is another user's, or has
  /// another name, too (a hard link). Throws if it cannot be opened, for example on a locked device.
  static func open(_ url: URL, _ flags: Int32 = O_RDONLY) throws -> NetworkOwnFile? {
    let found = try lookUp(url)
    guard case .ours = found else { return nil }
    let file = try NetworkOwnFile(url, flags, 0, found)
    return file.hasItsName ? file : nil
  }

  /// Whether the name is still that of this file. Another process may have moved the file or made another one.
  var hasItsName: Bool { (try? Self.lookUp(url)) == found }

  /// Removes a regular file. Anything else with this name remains, such as a symbolic link or a folder.
  static func remove(_ url: URL) { if isRegular(url) { unlink(url.path) } }

  static func isRegular(_ url: URL) -> Bool {
    switch try? lookUp(url) {
    case .ours, .otherRegularFile: true
    default: false
    }
  }

  /// What has this name. Symbolic links are not followed.
  private static func lookUp(_ url: URL) throws -> Found {
    let attributes: [FileAttributeKey: Any]
    do { attributes = try FileManager.default.attributesOfItem(atPath: url.path) } catch CocoaError.fileReadNoSuchFile {
      return .nothing
    }
    func number(_ key: FileAttributeKey) -> UInt64? { (attributes[key] as? NSNumber)?.uint64Value }
    if attributes[.type] as? FileAttributeType != .typeRegular { return .notRegular }
    let isOurs = number(.ownerAccountID) == UInt64(geteuid()) && number(.referenceCount) == 1
    guard isOurs, let device = number(.systemNumber), let file = number(.systemFileNumber) else {
      return .otherRegularFile
    }
    return .ours(device: device, number: file)
  }
}
