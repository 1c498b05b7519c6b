nonisolated extension NetworkError {
  /// The error for a value that cannot be encoded, with its coding path.
  static func unencodable(_ error: any Swift.Error, as part: String) -> NetworkError {
    var reason = "\(type(of: error))"
    if case EncodingError.invalidValue(_, let context) = error {
      let place = context.codingPath.networkPath.map { $0 + ": " } ?? ""
      reason = place + oneLine(context.debugDescription, 120)
    }
    return error as? NetworkError ?? .invalidRequest(reason: "the \(part) cannot be encoded: \(reason)")
  }
}
