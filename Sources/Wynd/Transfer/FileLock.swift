import Foundation

/// Keeps a partial file for one writer: two would mix what they get. Within this process by a list; beyond it by the system,
/// which lets go when a process ends. Not on iOS and its kin, where nobody else can write there, and an app that is suspended
/// with a lock in a shared folder is ended.
nonisolated final class FileLock: @unchecked Sendable {
  private static let taken = Taken()
  private final class Taken: @unchecked Sendable {
    let lock = NSLock()
    var paths: Set<String> = []
  }
  private let path: String
  let handle: FileHandle

  /// Opens what is there; nil if it is in use.
  init?(_ url: URL) throws {
    path = url.standardizedFileURL.path
    let path = path
    guard Self.taken.lock.withLock({ Self.taken.paths.insert(path).inserted }) else { return nil }
    do {
      handle = try FileHandle(forUpdating: url)
      #if os(Linux) || os(macOS) || os(Android)
        if Self.isRefused(handle) {
          try? handle.close()
          throw InUse()
        }
        // Its holder may have moved it to its place meanwhile: then a second opening is of another file, and is not refused.
        let again = try FileHandle(forUpdating: url)
        defer { try? again.close() }
        if !Self.isRefused(again), Self.knowsLocks(handle) {
          try? handle.close()
          throw InUse()
        }
      #endif
    } catch {
      Self.taken.lock.withLock { _ = Self.taken.paths.remove(path) }
      if error is InUse { return nil }
      throw error
    }
  }

  private struct InUse: Error {}

  func release() {
    #if os(Linux) || os(macOS) || os(Android)
      // A child process that was started meanwhile has a copy of the descriptor, and closing ours keeps its lock.
      _ = flock(handle.fileDescriptor, LOCK_UN)
    #endif
    try? handle.close()
    Self.taken.lock.withLock { _ = Self.taken.paths.remove(path) }
  }

  #if os(Linux) || os(macOS) || os(Android)
    /// Another holds it. A file system without locks refuses nobody.
    private static func isRefused(_ handle: FileHandle) -> Bool {
      flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
    private static func knowsLocks(_ handle: FileHandle) -> Bool {
      flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0
    }
  #endif
}
