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

nonisolated extension [any CodingKey] {
  /// The path to a value, for a log: `users[3].email`. Nil at the top.
  var networkPath: String? {
    if isEmpty { return nil }
    let text = map { key in
      // A case of an enumeration is a name in the code, and "Index 3" is an element of an array. Any other key, such as
      // that of a dictionary, is from the body.
      let mirror = Mirror(reflecting: key)
      let name = mirror.displayStyle == .enum && mirror.children.isEmpty ? key.stringValue : "…"
      return key.stringValue.hasPrefix("Index ") ? "[\(key.intValue ?? 0)]" : ".\(name)"
    }
    return NetworkError.oneLine(String(text.joined().trimmingPrefix(".")), 120)
  }
}
