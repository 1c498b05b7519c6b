#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

nonisolated extension Endpoint {
  /// The request that is sent.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if URL, header fields or body cannot be made, or what
  ///   ``prepare(request:)`` throws.
  public var request: URLRequest { get throws(NetworkError) { try makeRequest() } }

  func makeRequest(baseURL: URL? = nil) throws(NetworkError) -> URLRequest {
    var request = URLRequest(url: try url(baseURL: baseURL))
    if method != .get { request.httpMethod = method.rawValue }
    var fields = headers
    func indexOf(_ name: String) -> Int? { fields.firstIndex { $0.name.lowercased() == name.lowercased() } }
    if let body {
      do {
        switch try body.content.get() {
        case .data(let data): request.httpBody = data
        case .parts(let parts, let boundary):
          request.httpBody = try MultipartSpool(parts: parts, boundary: boundary).data()
          // Without its boundary no server can read it.
          if let own = indexOf("Content-Type"), !fields[own].value.contains("boundary=") {
            fields[own].value += "; boundary=\(boundary)"
          }
        }
      } catch {
        throw .unencodable(error, as: "body")
      }
      if indexOf("Content-Type") == nil { fields.append(.contentType(body.contentType)) }
    }
    if acceptsDecoded, indexOf("Accept") == nil { fields.append(.accept(decoder.mediaType)) }
    for field in fields {
      let flaw = field.flaw ?? SessionTransport.validationError(forField: field.name, field.value)
      if let flaw { throw .invalidRequest(reason: flaw) }
      request.addValue(field.value, forHTTPHeaderField: field.name)
    }
    do {
      try prepare(request: &request)
    } catch {
      throw error as? NetworkError ?? .middlewareError(error)
    }
    if let flaw = SessionTransport.validationError(for: request) { throw .invalidRequest(reason: flaw) }
    let method = request.httpMethod?.uppercased() ?? "GET"
    if request.httpBody != nil, method == "GET" || method == "HEAD" {
      throw .invalidRequest(reason: "\(method) takes no body")
    }
    return request
  }

  /// Will the body of the answer go through the decoder? `Data` and `String` are `Decodable` too, and do not.
  private var acceptsDecoded: Bool {
    switch Response.self {
    case is Data.Type, is Data?.Type, is String.Type, is String?.Type: false
    default: Response.self is any Decodable.Type
    }
  }
}

nonisolated extension NetworkError {
  /// A value that cannot be encoded, with the place where it stands.
  static func unencodable(_ error: any Error, as part: String) -> NetworkError {
    switch error {
    case let error as NetworkError: error
    case EncodingError.invalidValue(_, let context):
      .invalidRequest(
        reason: "the \(part) cannot be encoded: \(place(context.codingPath)): \(oneLine(context.debugDescription, 120))"
      )
    default: .invalidRequest(reason: "the \(part) cannot be encoded (\(type(of: error)))")
    }
  }
}
