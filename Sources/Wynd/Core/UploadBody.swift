public import Foundation

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
  // One of these four is set.
  var data: Data?
  var file: URL?
  var stream: (@Sendable () throws -> InputStream)?
  /// Passes the body to the closure in chunks.
  var chunks: (@Sendable ((Data) throws -> Void) throws -> Void)?
  /// The length of the stream.
  var length: Int64?
  var contentType: String?

  /// A body in memory.
  public static func data(_ data: Data) -> UploadBody { UploadBody(data: data) }

  /// A file, which is read while it is sent. It must not change before the upload ends.
  public static func file(_ file: URL) -> UploadBody { UploadBody(file: file) }

  /// A closure that makes a new stream each time the body is sent, because a stream can be read only once. With
  /// `length`, in bytes, the request has a Content-Length. Without it, the body is sent with chunked transfer coding,
  /// which not every server accepts. Of a stream that is longer, only `length` bytes are sent on Linux. On Apple's
  /// platforms, the upload fails with `URLError.dataLengthExceedsMaximum`.
  public static func bodyStream(
    length: Int64? = nil, _ makeStream: @escaping @Sendable () throws -> InputStream
  ) -> UploadBody { UploadBody(stream: makeStream, length: length) }
}
