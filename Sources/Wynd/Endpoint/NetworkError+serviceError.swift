public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension NetworkError {
  /// The service's own error, even after retries: the body of the error response, decoded as JSON.
  ///
  /// ```swift
  /// struct Problem: Decodable { var title: String }
  /// do throws(NetworkError) { show(try await client.load(.expenses)) } catch {
  ///   show(error.serviceError(as: Problem.self)?.title ?? error.localizedDescription)
  /// }
  /// ```
  ///
  /// An error of this type that an endpoint threw, or that a middleware threw, is returned as it is.
  ///
  /// - Parameters:
  ///   - type: The type of the body.
  ///   - decoder: Decodes the body. The default reads dates as ISO 8601. Pass the decoder of the client if it has
  ///     another one.
  /// - Returns: The error; nil if there is no response with a status of 400 and up, or its body is not of this type.
  public func serviceError<E>(as type: E.Type, decoder: JSONDecoder? = nil) -> E? {
    if let error = known(as: type) { return error }
    guard let decodable = type as? any Decodable.Type, let data, statusCode.map({ $0 >= 400 }) == true else {
      return nil
    }
    return try? (decoder ?? .networkDefault).decode(decodable, from: data) as? E
  }

  /// The error of this type that an endpoint or a middleware has made already.
  private func known<E>(as type: E.Type) -> E? {
    switch self {
    case .undecodable(let error, _, _): error as? E
    default: thrown as? E ?? (thrown as? NetworkError)?.known(as: type) ?? inner?.known(as: type)
    }
  }
}
