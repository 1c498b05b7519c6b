import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension URLRequest {
  /// The request with more header fields. `URLRequest` itself drops a value with a line break on some platforms, and of
  /// two spellings of one name it keeps any.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if a field is not valid.
  func addingHeaders(_ fields: [String: String]) throws(NetworkError) -> URLRequest {
    if fields.isEmpty { return self }
    try NetworkRequestValidation.check(fields)
    var request = self
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    return request
  }
}

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
