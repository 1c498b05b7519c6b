public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

// All return types are written `Response`. If one were `Void`, the compiler would infer `Void` as the `Response` of a
// generic `struct Call<Response: Decodable & Sendable>: Endpoint`, which would not compile.
nonisolated extension Endpoint where Response: Decodable {
  /// Returns the body for `Data`, and its text for `String`; any other type is decoded with `decoder`. If the body is empty,
  /// the result is nil for an `Optional` and null for a ``JSONValue``, and any other type that has to be decoded fails with
  /// ``NetworkError/noResponseData(_:)``. For a type that has to be decoded, a body of white space is empty too.
  public func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> Response {
    try Self.decoded(data, response, decoder)
  }

  static func decoded(_ data: Data, _ response: HTTPURLResponse, _ decoder: JSONDecoder) throws -> Response {
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
    } catch DecodingError.dataCorrupted(var context) where context.codingPath.isEmpty && !decoder.allowsJSON5 {
      // The decoder does not say it on every platform.
      if let reason = response.reasonNotJSON(data) {
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
  func parsed(
    _ result: RetryLoop.CallResult, _ defaults: NetworkDefaults
  ) -> Result<NetworkResponse<Response>, NetworkError> {
    let decoder = decoder(defaults)
    return result.mapError { typed($0, decoder) }.flatMap { network in
      Result { network.withValue(try parse(data: network.data, response: network.response, decoder: decoder)) }
        .mapError { parsingError($0, network) }
    }
  }

  private func parsingError(_ error: any Error, _ network: NetworkResponse<Data>) -> NetworkError {
    if error is ServiceError { return .serviceError(error, network.response, network.data) }
    return error as? NetworkError ?? .undecodable(error, network.response, network.data)
  }

  /// The error with the service's own error in it, decoded with the client's decoder.
  func typed(_ error: NetworkError, _ defaults: NetworkDefaults) -> NetworkError {
    typed(error, decoder(defaults))
  }

  private func decoder(_ defaults: NetworkDefaults) -> JSONDecoder {
    let own = decoder
    return own === JSONDecoder.networkDefault ? defaults.decoder ?? own : own
  }

  private func typed(_ error: NetworkError, _ decoder: JSONDecoder) -> NetworkError {
    switch error {
    case .endpointError(let response, let data?):
      let type = (self as? any NetworkServiceErrorSource)?.serviceErrorType ?? ServiceError.self
      if type == NoServiceError.self { return error }
      return (try? decoder.decode(type, from: data)).map { .serviceError($0, response, data) } ?? error
    case .inaccessible(var failure):
      failure.lastError = typed(failure.lastError, decoder)
      return .inaccessible(failure)
    case .mappedError(let own, let cause): return .mappedError(own, typed(cause, decoder))
    default: return error
    }
  }
}

nonisolated extension NetworkError {
  /// The service's own error, also after retries: `if let error = error.serviceError(as: ShopError.self)`.
  ///
  /// It is found too if a middleware threw it.
  public func serviceError<E: Error>(as type: E.Type) -> E? {
    if case .serviceError(let error, _, _) = self { return error as? E }
    return thrown as? E ?? (thrown as? NetworkError)?.serviceError(as: type) ?? inner?.serviceError(as: type)
  }
}

/// An endpoint that knows the type of its service errors at run time only.
nonisolated protocol NetworkServiceErrorSource: Sendable { var serviceErrorType: any (Error & Decodable).Type { get } }

// This extends a type of Foundation, so the name must not collide with one of the app.
nonisolated extension JSONDecoder {
  /// Stands for the decoder of the client. It is recognized by its identity.
  static let networkDefault = JSONDecoder()
}
