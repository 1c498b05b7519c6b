/// The body of an upload. It does not have to be in memory.
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
    case stream(length: Int64?, @Sendable () throws -> InputStream)
    /// A file, which is made once for each call, on the first attempt, and exists as long as its `owner`. `isWanted`
    /// returns false after a cancellation.
    case file(contentType: String?, @Sendable (_ isWanted: () -> Bool) throws -> (url: URL, owner: TemporaryFile?))
  }
  let content: Content

  /// A body in memory.
  public static func data(_ data: Data) -> UploadBody { UploadBody(content: .data(data)) }

  /// A file, which is read while it is sent. It must not change before the upload ends.
  public static func file(_ file: URL) -> UploadBody {
    UploadBody(content: .file(contentType: nil) { _ in (file, nil) })
  }

  /// A closure that makes a new stream each time the body is sent, because a stream can be read only once. With
  /// `length`, in bytes, the request has a Content-Length. Without it, the body is sent with chunked transfer coding,
  /// which not every server accepts. Of a stream that is longer, only `length` bytes are sent on Linux. On Apple's
  /// platforms, the upload fails with `URLError.dataLengthExceedsMaximum`.
  public static func bodyStream(
    length: Int64? = nil, _ makeStream: @escaping @Sendable () throws -> InputStream
  ) -> UploadBody { UploadBody(content: .stream(length: length, makeStream)) }
}

/// A temporary file that only the current user can access. It is removed when this object is deallocated.
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
