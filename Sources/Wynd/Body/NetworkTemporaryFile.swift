import Foundation

/// A temporary file that only the current user can access. It is removed when this object is deallocated.
nonisolated final class NetworkTemporaryFile: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("wynd-\(UUID().uuidString)")

  /// `write` passes the content to a closure in chunks.
  init(_ write: ((Data) throws -> Void) throws -> Void) throws {
    guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
    let handle = try FileHandle(forWritingTo: url)
    defer { try? handle.close() }
    try write { try handle.write(contentsOf: $0) }
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}
