#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

nonisolated extension Endpoint {
  /// The request that is sent. A multipart body with files is not in it: `load` sends that from disk.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if URL, header fields or body cannot be made, or what
  ///   ``prepare(request:)`` throws.
  public var request: URLRequest { get throws(NetworkError) { try makeRequest().request } }

  func makeRequest(baseURL: URL? = nil) throws(NetworkError) -> (request: URLRequest, spool: MultipartSpool?) {
    var request = URLRequest(url: try url(baseURL: baseURL))
    request.httpMethod = method.rawValue
    var fields = headers
    func addUnlessSet(_ field: URLRequest.Header) {
      if !fields.contains(where: { $0.name.lowercased() == field.name.lowercased() }) { fields.append(field) }
    }
    var spool: MultipartSpool?
    if let body {
      if method == .get || method == .head { throw .invalidRequest(reason: "\(method.rawValue) takes no body") }
      do {
        switch try body.content.get() {
        case .data(let data): request.httpBody = data
        case .parts(let parts, let boundary):
          let multipart = MultipartSpool(parts: parts, boundary: boundary)
          if multipart.hasFiles { spool = multipart } else { request.httpBody = try multipart.data() }
        }
      } catch {
        throw .unencodable(error, as: "body")
      }
      addUnlessSet(.contentType(body.contentType))
    }
    if acceptsDecoded { addUnlessSet(.accept(decoder.mediaType)) }
    for field in fields {
      if let flaw = SessionTransport.flaw(inField: field.name, field.value) { throw .invalidRequest(reason: flaw) }
      request.addValue(field.value, forHTTPHeaderField: field.name)
    }
    do {
      try prepare(request: &request)
    } catch {
      throw error as? NetworkError ?? .middlewareError(error)
    }
    if let flaw = SessionTransport.flaw(in: request) { throw .invalidRequest(reason: flaw) }
    return (request, spool)
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
        reason: "the \(part) cannot be encoded: \(place(context.codingPath)): \(context.debugDescription)")
    default: .invalidRequest(reason: "the \(part) cannot be encoded (\(type(of: error)))")
    }
  }
}
