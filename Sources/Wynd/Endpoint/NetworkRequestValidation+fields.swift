nonisolated extension NetworkRequestValidation {
  /// Throws if a header field is not valid, or two have the same name.
  static func check(_ fields: [String: String]) throws(NetworkError) {
    var names: [String: String] = [:]
    for (name, value) in fields.networkSorted {
      if let other = names.updateValue(name, forKey: name.lowercased()) {
        throw .invalidRequest(reason: "the header fields \(other) and \(name) have the same name")
      }
      if let invalid = invalidReason(ofField: name, value) { throw .invalidRequest(reason: invalid) }
    }
  }
}
