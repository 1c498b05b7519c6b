public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The body of a request, with its Content-Type.
///
/// ```swift
/// let bodies: [RequestBody] = [
///   .json(order),
///   .json(["name": "Bella", "age": 3]),
///   .form([URLQueryItem(name: "grant_type", value: "password")]),
///   .multipart([.init(name: "photo", file: url, contentType: "image/jpeg")]),
/// ]
/// ```
///
/// If a value cannot be encoded, the call fails with ``NetworkError/invalidRequest(reason:)``, and nothing is sent.
nonisolated public struct RequestBody: Sendable {
  let contentType: String
  /// Encodes the body when the request is made. The argument is the encoder of the client.
  let encoded: @Sendable (JSONEncoder?) throws -> Data

  /// Raw bytes.
  public static func data(_ data: Data, contentType: String = "application/octet-stream") -> RequestBody {
    RequestBody(contentType: contentType) { _ in data }
  }
  /// Text, encoded as UTF-8.
  public static func text(_ text: String, contentType: String = "text/plain; charset=utf-8") -> RequestBody {
    data(Data(text.utf8), contentType: contentType)
  }
  /// A value as JSON. The default encoder is that of the client, or else a `JSONEncoder` that sorts the keys, so that
  /// equal values have equal bodies.
  public static func json(_ value: some Encodable & Sendable, encoder: JSONEncoder? = nil) -> RequestBody {
    RequestBody(contentType: "application/json") { try (encoder ?? $0 ?? sortingEncoder()).encode(value) }
  }
  /// JSON that is written as literals, with any nesting. The members of an object are sorted by name.
  public static func json(_ value: JSONValue) -> RequestBody { json(value, encoder: sortingEncoder()) }
  /// Values of different types as JSON: `.json(["name": name, "age": age])`. The default encoder is that of the
  /// client, or else a `JSONEncoder` that sorts the keys.
  public static func json(_ values: QueryEncoder.Values, encoder: JSONEncoder? = nil) -> RequestBody {
    json(values.mapValues(JSONValue.init), encoder: encoder)
  }
  private static func sortingEncoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return encoder
  }
  /// Form fields as a browser sends them (`application/x-www-form-urlencoded`).
  public static func form(_ fields: [URLQueryItem]) -> RequestBody { form { fields } }
  /// The properties of a value as form fields.
  public static func form(_ value: some Encodable & Sendable, encoder: QueryEncoder = QueryEncoder()) -> RequestBody {
    form { try encoder.encode(value) }
  }
  /// Values of different types as form fields.
  public static func form(_ values: QueryEncoder.Values, encoder: QueryEncoder = QueryEncoder()) -> RequestBody {
    form { try encoder.encode(values) }
  }
  private static func form(_ fields: @escaping @Sendable () throws -> [URLQueryItem]) -> RequestBody {
    RequestBody(contentType: "application/x-www-form-urlencoded") { _ in
      Data(NetworkPercentEncoding.query(try fields()).replacingOccurrences(of: "%20", with: "+").utf8)
    }
  }
  /// `multipart/form-data` (RFC 7578), built in memory, including the contents of files. For large files use an
  /// upload with an `UploadBody`, which is built on disk.
  public static func multipart(_ parts: [Part]) -> RequestBody {
    let boundary = "wynd-\(UUID().uuidString)"
    return RequestBody(contentType: "multipart/form-data; boundary=\(boundary)") { _ in
      var data = Data()
      try Part.write(parts, boundary) { data.append($0) }
      return data
    }
  }

  func add(to request: inout URLRequest, encoder: JSONEncoder?) throws(NetworkError) {
    do { request.httpBody = try encoded(encoder) } catch { throw .unencodable(error, as: "body") }
    guard let own = request.value(forHTTPHeaderField: "Content-Type") else {
      return try NetworkHeader.contentType(contentType).add(to: &request)
    }
    // Without its boundary, the server could not parse a multipart body.
    if let boundary = contentType.components(separatedBy: "boundary=").dropFirst().first, !own.contains("boundary=") {
      request.setValue("\(own); boundary=\(boundary)", forHTTPHeaderField: "Content-Type")
    }
  }

  /// A part of a multipart body.
  nonisolated public struct Part: Sendable {
    let name: String
    /// Passes the content to the closure in chunks.
    let content: @Sendable ((Data) throws -> Void) throws -> Void
    var fileName: String?
    var contentType: String?
  }
}

nonisolated extension RequestBody.Part {
  /// The header fields of the part. Names are escaped as in the HTML standard, because a quote would end them.
  func head() throws -> String {
    func quoted(_ text: String) -> String {
      let escapes: [Unicode.Scalar: String] = ["\"": "%22", "\r": "%0D", "\n": "%0A"]
      return "\"" + text.unicodeScalars.map { escapes[$0] ?? String($0) }.joined() + "\""
    }
    if let contentType, let invalid = NetworkRequestValidation.error(inField: "Content-Type", contentType) {
      throw NetworkError.invalidRequest(reason: invalid)
    }
    return "Content-Disposition: form-data; name=\(quoted(name))"
      + (fileName.map { "; filename=\(quoted($0))" } ?? "") + (contentType.map { "\r\nContent-Type: \($0)" } ?? "")
  }

  /// Passes a multipart body to the closure in chunks.
  static func write(_ parts: [Self], _ boundary: String, _ add: (Data) throws -> Void) throws {
    for part in parts {
      try add(Data("--\(boundary)\r\n\(part.head())\r\n\r\n".utf8))
      try part.content(add)
      try add(Data("\r\n".utf8))
    }
    try add(Data("--\(boundary)--\r\n".utf8))
  }

  /// A text field.
  public init(name: String, value: String) { self.init(name: name) { try $0(Data(value.utf8)) } }
  /// Raw bytes, sent as a file if there is a `fileName`.
  public init(name: String, data: Data, fileName: String? = nil, contentType: String = "application/octet-stream") {
    self.init(name: name, content: { try $0(data) }, fileName: fileName, contentType: contentType)
  }
  /// A file, which is read when the call is made. The default `fileName` is the name of the file.
  public init(name: String, file: URL, fileName: String? = nil, contentType: String = "application/octet-stream") {
    let fileName = fileName ?? file.lastPathComponent
    self.init(name: name, content: { try Self.read(file, $0) }, fileName: fileName, contentType: contentType)
  }

  private static func read(_ file: URL, _ add: (Data) throws -> Void) throws {
    // Reading a pipe or a device might never end.
    guard (try? file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true,
      let handle = try? FileHandle(forReadingFrom: file)
    else { throw NetworkError.invalidRequest(reason: "\(file.path) is not a file that can be read") }
    defer { try? handle.close() }
    func readChunk() throws -> Bool {
      guard let chunk = try handle.read(upToCount: 262_144), !chunk.isEmpty else { return false }
      try add(chunk)
      return true
    }
    #if canImport(ObjectiveC)
      // The chunks are autoreleased. Without a pool, the entire file would stay in memory.
      while try autoreleasepool(invoking: readChunk) {}
    #else
      while try readChunk() {}
    #endif
  }
}

nonisolated extension UploadBody {
  /// `multipart/form-data` (RFC 7578). The body is built in a temporary file that only the user can read, and the file
  /// is removed when the call ends. Parts from files may therefore be large.
  public static func multipart(_ parts: [RequestBody.Part]) -> UploadBody {
    let boundary = "wynd-\(UUID().uuidString)"
    let contentType = "multipart/form-data; boundary=\(boundary)"
    return UploadBody(chunks: { try RequestBody.Part.write(parts, boundary, $0) }, contentType: contentType)
  }
}
