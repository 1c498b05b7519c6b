import Foundation

/// A temporary file that only the current user can access. It is removed when this object is deallocated.
nonisolated final class NetworkTemporaryFile: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("wynd-\(UUID().uuidString)")
  let handle: FileHandle

  /// `write` passes the content to a closure in chunks.
  init(_ write: ((Data) throws -> Void) throws -> Void = { _ in }) throws {
    guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
    handle = try FileHandle(forUpdating: url)
    try write { try handle.write(contentsOf: $0) }
  }

  deinit {
    try? handle.close()
    try? FileManager.default.removeItem(at: url)
  }
}
