import Foundation

/// A temporary file that only the current user can access. It is removed when this object is deallocated.
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
