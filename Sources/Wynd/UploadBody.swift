public import Foundation

/// The body of an upload, which need not be in memory.
///
/// ```swift
/// let bodies: [UploadBody] = [
///   .data(data),
///   .file(film),
///   .bodyStream(length: 1_000) { InputStream(data: data) },
///   .multipart([.init(name: "film", file: film, contentType: "video/mp4")]),
/// ]
/// ```
nonisolated public struct UploadBody: Sendable {
  enum Content: Sendable {
    case data(Data)
    case file(URL)
    case stream(length: Int64?, @Sendable () throws -> InputStream)
    /// Written once for a call, when it is first sent; `isWanted` turns false when the call has been cancelled.
    case assembled(contentType: String, @Sendable (_ isWanted: () -> Bool) throws -> TemporaryFile)
  }
  let content: Content

  /// Bytes in memory.
  public static func data(_ data: Data) -> UploadBody { UploadBody(content: .data(data)) }

  /// A file, read while it is sent. It must not change meanwhile.
  public static func file(_ file: URL) -> UploadBody { UploadBody(content: .file(file)) }

  /// A closure that makes a new stream for each send, because a stream can be read only once. With `length`, in bytes, it
  /// is sent with Content-Length; without it in chunks, which not every server accepts.
  public static func bodyStream(
    length: Int64? = nil, _ makeStream: @escaping @Sendable () throws -> InputStream
  ) -> UploadBody { UploadBody(content: .stream(length: length, makeStream)) }
}

/// A file that only the user can read, removed together with this object.
nonisolated final class TemporaryFile: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("wynd-\(UUID().uuidString)")
  let handle: FileHandle

  init() throws {
    guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
    handle = try FileHandle(forUpdating: url)
  }

  deinit {
    try? handle.close()
    try? FileManager.default.removeItem(at: url)
  }
}
