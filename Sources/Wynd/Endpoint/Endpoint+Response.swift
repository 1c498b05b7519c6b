public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

// All return types are written `Response`. If one were `Void`, the compiler would infer `Void` as the `Response` of a
// generic `struct Call<Response: Decodable & Sendable>: Endpoint`, which would not compile.
nonisolated extension Endpoint where Response: Decodable {
  /// Returns the body for `Data`, and its text for `String`. Any other type is decoded with `decoder`. If the body is
  /// empty, an `Optional` is nil, and any other type that has to be decoded fails with
  /// ``NetworkError/noResponseData(_:)``. For a type that has to be decoded, a body of white space is empty too.
  public func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> Response {
    try Self.decoded(data, response, decoder)
  }

  @Sendable static func decoded(_ data: Data, _ response: HTTPURLResponse, _ decoder: JSONDecoder) throws -> Response {
    let isRaw = data is Response || "" is Response
    // Some servers send a space or a line break instead of an empty body (white space of RFC 8259 §2).
    let isEmpty = isRaw ? data.isEmpty : data.allSatisfy(" \t\r\n".utf8.contains)
    let optional = Response.self as? any ExpressibleByNilLiteral.Type
    if isEmpty, let none = optional?.init(nilLiteral: ()) as? Response { return none }
    if let data = data as? Response { return data }
    if "" is Response, let text = try response.text(of: data) as? Response { return text }
    if isEmpty { throw NetworkError.noResponseData(response) }
    do {
      return try decoder.decode(Response.self, from: data)
    } catch DecodingError.dataCorrupted(var context) where context.codingPath.isEmpty {
      if let reason = response.reasonNotJSON {
        context = .init(codingPath: [], debugDescription: context.debugDescription, underlyingError: reason)
      }
      throw DecodingError.dataCorrupted(context)
    }
  }
}
nonisolated extension Endpoint where Response == Void {
  /// Ignores the body.
  public func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> Response { () }
}
nonisolated extension Endpoint where Response == HTTPURLResponse {
  /// Returns the response, with its status code and header fields.
  public func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> Response { response }
}

nonisolated extension Endpoint {
  /// If there is no other `parse`, the compiler says why.
  @available(
    *, unavailable,
    message:
      "`Response` is not Decodable, or only on an actor: declare it as `nonisolated struct`, or implement `parse`"
  )
  public func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> Response {
    throw NetworkError.noResponseData(response)
  }
}

nonisolated extension Endpoint {
  func parsed(
    _ result: RetryLoop.CallResult, _ defaults: NetworkDefaults
  ) -> Swift.Result<NetworkResponse<Response>, NetworkError> {
    var decoder = self.decoder
    if decoder === JSONDecoder.networkDefault, let ofClient = defaults.decoder { decoder = ofClient }
    return result.flatMap { network in
      Swift.Result { network.withValue(try parse(data: network.data, response: network.response, decoder: decoder)) }
        .mapError {
          let error = $0 as? NetworkError ?? .undecodable($0, network.response, network.data)
          network.onUndecodable?(error)
          return error
        }
    }
  }
}

nonisolated extension JSONDecoder {
  /// Reads what ``RequestBody/json(_:encoder:)`` writes by default: dates as ISO 8601, with or without fractions of a
  /// second. As the decoder of an endpoint, it stands for the client's, and is recognized by its identity.
  static let networkDefault = {
    let json = JSONDecoder()
    // Not `.iso8601`, which accepts no fractions, and whose error does not name the member.
    json.dateDecodingStrategy = .custom { decoder in
      let text = try decoder.singleValueContainer().decode(String.self)
      let styles = [
        Foundation.Date.ISO8601FormatStyle(), Foundation.Date.ISO8601FormatStyle(includingFractionalSeconds: true),
      ]
      let isASCII = text.utf8.allSatisfy { $0 < 128 }
      if isASCII, let date = styles.lazy.compactMap({ try? $0.parse(text) }).first { return date }
      let reason = NetworkUnreadableText(description: "not a date of ISO 8601")
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: reason.description, underlyingError: reason))
    }
    return json
  }()
}

nonisolated extension NetworkResponse {
  /// The same response with another value.
  func withValue<New>(_ value: New) -> NetworkResponse<New> {
    NetworkResponse<New>(
      value: value, data: data, response: response, values: values, failures: failures, success: success)
  }
}
