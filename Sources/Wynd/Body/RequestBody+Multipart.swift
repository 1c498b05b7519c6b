public import Foundation

nonisolated extension RequestBody {
  /// `multipart/form-data` (RFC 7578). A body with files is put together in a temporary file that only the user can
  /// read, and that is removed when the call ends (NetworkTemporaryFile, in NetworkOwnFile), so the files may be large.
  /// Any other body is made in memory.
  public static func multipart(_ parts: [Part]) -> RequestBody {
    let boundary = "wynd-\(UUID().uuidString)"
    let contentType = "multipart/form-data; boundary=\(boundary)"
    if parts.contains(where: \.isFile) {
      return RequestBody(content: .chunks { try Part.write(parts, boundary, $0) }, contentType: contentType)
    }
    let encode: @Sendable (JSONEncoder?) throws -> Data = { _ in
      var data = Data()
      try Part.write(parts, boundary) { data.append($0) }
      return data
    }
    return RequestBody(content: .memory(encode), contentType: contentType)
  }

  /// A part of a multipart body.
  nonisolated public struct Part: Sendable, CustomStringConvertible {
    let name: String
    /// Passes the content to the closure in chunks.
    let content: @Sendable ((Data) throws -> Void) throws -> Void
    var fileName: String?
    var contentType: String?
    /// The content is read from a file.
    var isFile = false
    /// The name, and nothing of the content.
    public var description: String { NetworkError.oneLine(name, 100) }
  }
}

nonisolated extension RequestBody.Part {
  /// The header fields of the part. Names are escaped as in the HTML standard, because a quote would end them.
  func head() throws -> String {
    func quoted(_ text: String) -> String {
      let escapes: [Unicode.Scalar: String] = ["\"": "%22", "\r": "%0D", "\n": "%0A"]
      return "\"" + text.unicodeScalars.map { escapes[$0] ?? String($0) }.joined() + "\""
    }
    if let contentType, let invalid = NetworkRequestValidation.invalidReason(ofField: "Content-Type", contentType) {
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
  public static func text(_ name: String, _ value: String) -> Self { Self(name: name) { try $0(Data(value.utf8)) } }

  /// Raw bytes, sent as a file if there is a `fileName`.
  public static func data(
    _ name: String, _ data: Data, fileName: String? = nil, contentType: String = "application/octet-stream"
  ) -> Self {
    Self(name: name, content: { try $0(data) }, fileName: fileName, contentType: contentType)
  }

  /// A file, which is read when the call is made. The default `fileName` is the name of the file. A file that cannot be
  /// read is ``TransferError/unusableFile(_:reason:)``, inside ``NetworkError/generalError(_:)``.
  public static func file(
    _ name: String, _ file: URL, fileName: String? = nil, contentType: String = "application/octet-stream"
  ) -> Self {
    Self(
      name: name, content: { try read(file, $0) }, fileName: fileName ?? file.lastPathComponent,
      contentType: contentType, isFile: true)
  }

  /// The compiler says in which order the arguments are.
  @available(*, unavailable, message: "the name of the field is first: `.text(\"title\", \"Holidays\")`")
  public static func text(_ value: String, name: String) -> Self { text(name, value) }

  /// The compiler says in which order the arguments are.
  @available(*, unavailable, message: "the name of the field is first: `.file(\"photo\", url)`")
  public static func file(
    _ file: URL, name: String, fileName: String? = nil, contentType: String = "application/octet-stream"
  ) -> Self { Self.file(name, file, fileName: fileName, contentType: contentType) }

  private static func read(_ file: URL, _ add: (Data) throws -> Void) throws {
    let handle = try FileHandle.networkReading(file)
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
