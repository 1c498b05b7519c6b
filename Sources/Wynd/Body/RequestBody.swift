// Body: the body of a request, which need not be in memory, and the upload that sends it in each attempt.
// It needs Core. Endpoint and Transfer need it. NetworkOwnFile opens every file of the library, and has the temporary
// file of a form and the hash that names files beside it.

public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The body of a request, for an endpoint and for an upload. It does not have to be in memory.
///
/// ```swift
/// let bodies: [RequestBody] = [
///   .json(order),
///   .json(["name": "Bella", "age": 3]),
///   .form([URLQueryItem(name: "grant_type", value: "password")]),
///   .file(film, contentType: "video/mp4"),
///   .stream(length: 1_000) { InputStream(data: data) },
///   .multipart([.text("title", "Holidays"), .file("photo", url, contentType: "image/jpeg")]),
/// ]
/// ```
///
/// A `Content-Type` of the request or the endpoint takes precedence over the one of the body. Set none for a multipart
/// body, whose own type names its boundary.
///
/// If a value cannot be encoded, the call fails with ``NetworkError/invalidRequest(reason:)``, and nothing is sent.
nonisolated public struct RequestBody: Sendable, CustomStringConvertible {
  enum Content: Sendable {
    /// Encodes the body when the request is made. The argument is the encoder of the client.
    case memory(@Sendable (JSONEncoder?) throws -> Data)
    case file(URL)
    /// Makes a new stream each time the body is sent. The length is in bytes.
    case stream(length: Int64?, @Sendable () throws -> InputStream)
    /// Passes the body to the closure in chunks. It is put together in a temporary file.
    case chunks(@Sendable ((Data) throws -> Void) throws -> Void)
  }
  let content: Content
  /// Nil means the type that the client or the session specifies, or `application/octet-stream`.
  let contentType: String?
  /// Whether there is no body, which is not the same as one of length 0.
  var isEmpty = false

  /// Whether it is in memory, and nothing of its content.
  public var description: String { isInMemory ? "a body in memory" : "a body that is not in memory" }

  /// Whether the body is in the request itself.
  var isInMemory: Bool {
    if case .memory = content { true } else { false }
  }

  /// No body.
  public static let empty = RequestBody(content: .memory { _ in Data() }, contentType: nil, isEmpty: true)

  /// Bytes in memory. Without a type, they have the type that the client or the session specifies, or
  /// `application/octet-stream`.
  public static func data(_ data: Data, contentType: String? = nil) -> RequestBody {
    RequestBody(content: .memory { _ in data }, contentType: contentType)
  }

  /// Text, encoded as UTF-8.
  public static func text(_ text: String, contentType: String = "text/plain; charset=utf-8") -> RequestBody {
    data(Data(text.utf8), contentType: contentType)
  }

  /// A file, which is read while it is sent. It must not change before the call ends. A file that cannot be read is
  /// ``TransferError/unusableFile(_:reason:)``, inside ``NetworkError/generalError(_:)``.
  public static func file(_ file: URL, contentType: String? = nil) -> RequestBody {
    RequestBody(content: .file(file), contentType: contentType)
  }

  /// A closure that makes a new stream each time the body is sent, because a stream can be read only once. With
  /// `length`, in bytes, the request has a Content-Length. Without it, the body is sent with chunked transfer coding,
  /// which not every server accepts. If the stream is longer, Linux sends only `length` bytes. On Apple's platforms,
  /// the call fails with `URLError.dataLengthExceedsMaximum`.
  public static func stream(
    length: Int64? = nil, contentType: String? = nil, _ makeStream: @escaping @Sendable () throws -> InputStream
  ) -> RequestBody {
    RequestBody(content: .stream(length: length, makeStream), contentType: contentType)
  }

  /// The body if it is in memory; otherwise nil.
  ///
  /// - Parameter encoder: The encoder of the client.
  /// - Returns: The encoded body.
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if a value cannot be encoded.
  func encoded(with encoder: JSONEncoder?) throws(NetworkError) -> Data? {
    guard case .memory(let encode) = content else { return nil }
    do { return try encode(encoder) } catch { throw .unencodable(error, as: "body") }
  }

  /// Sets the Content-Type of the body, if the request has none.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if it is not a valid field value.
  func addContentType(to request: inout URLRequest) throws(NetworkError) {
    guard let contentType else { return }
    if let invalid = NetworkRequestValidation.invalidReason(ofField: "Content-Type", contentType) {
      throw .invalidRequest(reason: invalid)
    }
    if request.value(forHTTPHeaderField: "Content-Type") != nil { return }
    request.setValue(contentType, forHTTPHeaderField: "Content-Type")
  }
}
