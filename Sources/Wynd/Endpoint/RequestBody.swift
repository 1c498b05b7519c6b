public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension URLRequest {
  /// The body of a request, with its Content-Type.
  ///
  /// ```swift
  /// let bodies: [URLRequest.Body] = [
  ///   .json(order),
  ///   .json(["name": "Bella", "age": 3]),
  ///   .form([URLQueryItem(name: "grant_type", value: "password")]),
  ///   .multipart([.init(name: "photo", file: url, contentType: "image/jpeg")]),
  /// ]
  /// ```
  ///
  /// A value that cannot be encoded is ``NetworkError/invalidRequest(reason:)``, and nothing is sent.
  nonisolated public struct Body: Sendable {
    enum Content: Sendable {
      case data(Data)
      case parts([Part], boundary: String)
    }
    let content: Result<Content, any Error>
    let contentType: String

    private init(_ contentType: String, _ data: () throws -> Data) {
      content = Result { .data(try data()) }
      self.contentType = contentType
    }

    /// Bytes.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> Body {
      Body(contentType) { data }
    }
    /// Text in UTF-8.
    public static func text(_ text: String, contentType: String = "text/plain; charset=utf-8") -> Body {
      Body(contentType) { Data(text.utf8) }
    }
    /// A value in the format of the encoder; without one, of the client's; without one, as JSON.
    public static func json(_ value: some Encodable, encoder: (any EndpointEncoder)? = nil) -> Body {
      let encoder = encoder ?? EndpointCoding.encoder ?? JSONEncoder()
      return Body(encoder.mediaType) { try encoder.encode(value) }
    }
    /// JSON as literals, nested as you like.
    public static func json(_ value: JSONValue) -> Body { json(value, encoder: JSONEncoder()) }
    /// Values of several types as JSON: `.json(["name": name, "age": age])`.
    public static func json(_ values: [String: (any Encodable)?], encoder: (any EndpointEncoder)? = nil) -> Body {
      json(values.mapValues(AnyEncodable.init), encoder: encoder)
    }
    /// Form fields as a browser sends them (`application/x-www-form-urlencoded`).
    public static func form(_ fields: [URLQueryItem]) -> Body {
      Body("application/x-www-form-urlencoded") { formData(fields) }
    }
    /// The properties of a value as form fields.
    public static func form(_ value: some Encodable, encoder: QueryEncoder = QueryEncoder()) -> Body {
      Body("application/x-www-form-urlencoded") { formData(try encoder.encode(value)) }
    }
    /// Values of several types as form fields.
    public static func form(_ values: [String: (any Encodable)?], encoder: QueryEncoder = QueryEncoder()) -> Body {
      form(values.mapValues(AnyEncodable.init), encoder: encoder)
    }
    /// `multipart/form-data` (RFC 7578). With files among the parts, it is put together in a temporary file that only the
    /// user can read, sent from there, and removed when the call is over.
    public static func multipart(_ parts: [Part]) -> Body {
      let boundary = "wynd-\(UUID().uuidString)"
      return Body(content: .success(.parts(parts, boundary: boundary)), boundary: boundary)
    }

    private init(content: Result<Content, any Error>, boundary: String) {
      self.content = content
      contentType = "multipart/form-data; boundary=\(boundary)"
    }

    private static func formData(_ fields: [URLQueryItem]) -> Data {
      Data(PercentEncoding.query(fields).replacingOccurrences(of: "%20", with: "+").utf8)
    }
  }
}

nonisolated extension URLRequest.Body {
  /// A part of a multipart body.
  nonisolated public struct Part: Sendable {
    enum Content: Sendable {
      case data(Data)
      case file(URL)
    }
    let name: String
    let content: Content
    var fileName: String?
    var contentType: String?

    /// A field of text.
    public init(name: String, value: String) { self.init(name, .data(Data(value.utf8)), nil, nil) }
    /// Bytes; with a `fileName` as a file.
    public init(
      name: String, data: Data, fileName: String? = nil, contentType: String = "application/octet-stream"
    ) {
      self.init(name, .data(data), fileName, contentType)
    }
    /// A file, read when the call is made; its own name is sent unless another is given.
    public init(
      name: String, file: URL, fileName: String? = nil, contentType: String = "application/octet-stream"
    ) {
      self.init(name, .file(file), fileName ?? file.lastPathComponent, contentType)
    }

    private init(_ name: String, _ content: Content, _ fileName: String?, _ contentType: String?) {
      self.name = name
      self.content = content
      self.fileName = fileName
      self.contentType = contentType
    }

    /// The header of the part. Names are escaped as the HTML standard says: a quote would end them.
    func head() throws -> String {
      // By bytes: to `String` a quote and a combining mark are one other character.
      func quoted(_ text: String) -> String {
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
          switch byte {
          case 34: Array("%22".utf8)
          case 13: Array("%0D".utf8)
          case 10: Array("%0A".utf8)
          default: [byte]
          }
        }
        return "\"\(String(decoding: bytes, as: UTF8.self))\""
      }
      if let contentType, let flaw = SessionTransport.validationError(forField: "Content-Type", contentType) {
        throw NetworkError.invalidRequest(reason: flaw)
      }
      return "Content-Disposition: form-data; name=\(quoted(name))"
        + (fileName.map { "; filename=\(quoted($0))" } ?? "") + (contentType.map { "\r\nContent-Type: \($0)" } ?? "")
    }
  }
}

/// A multipart body, put together in memory or in a temporary file, which goes when nobody needs it any more.
nonisolated final class MultipartSpool: Sendable {
  let parts: [URLRequest.Body.Part]
  let boundary: String
  let file = FileManager.default.temporaryDirectory.appendingPathComponent("wynd-spool-\(UUID().uuidString)")

  init(parts: [URLRequest.Body.Part], boundary: String) {
    self.parts = parts
    self.boundary = boundary
  }

  deinit { try? FileManager.default.removeItem(at: file) }

  var hasFiles: Bool { parts.contains { if case .file = $0.content { true } else { false } } }

  func data() throws -> Data {
    var data = Data()
    try forEachPiece { data.append($0) }
    return data
  }

  /// Into the temporary file, which only the user can read; `isWanted` false leaves it unfinished.
  func write(while isWanted: () -> Bool) throws {
    guard FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else {
      throw CocoaError(.fileWriteUnknown)
    }
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    try forEachPiece { piece in
      if !isWanted() { throw CancellationError() }
      try handle.write(contentsOf: piece)
    }
  }

  private func forEachPiece(_ add: (Data) throws -> Void) throws {
    for part in parts {
      try add(Data("--\(boundary)\r\n\(part.head())\r\n\r\n".utf8))
      switch part.content {
      case .data(let data): try add(data)
      case .file(let url):
        // A pipe or a device might never end.
        guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else {
          throw CocoaError(.fileReadUnknown)
        }
        let handle = try FileHandle(forReadingFrom: url)
        defer { try? handle.close() }
        while let piece = try handle.read(upToCount: 262_144), !piece.isEmpty { try add(piece) }
      }
      try add(Data("\r\n".utf8))
    }
    try add(Data("--\(boundary)--\r\n".utf8))
  }
}
