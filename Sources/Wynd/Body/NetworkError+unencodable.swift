nonisolated extension NetworkError {
  /// The error for a value that cannot be encoded, with its coding path. An error of the app is kept.
  static func unencodable(_ error: any Swift.Error, as part: String) -> NetworkError {
    guard case EncodingError.invalidValue(_, let context) = error else {
      return error as? NetworkError ?? .generalError(error)
    }
    let place = context.codingPath.networkPath.map { $0 + ": " } ?? ""
    return .invalidRequest(reason: "the \(part) cannot be encoded: \(place)\(oneLine(context.debugDescription, 120))")
  }
}
