import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The header fields of a client, checked once, when they are set.
nonisolated struct NetworkClientHeaders: Sendable {
  /// Why no call with these fields can be sent; nil if they are valid.
  private var invalid: NetworkError?
  private var fields: [(name: String, value: String)] = []
  private(set) var contentType: String?
  private(set) var accept: String?

  init(_ headers: [String: String]) {
    if headers.isEmpty { return }
    do throws(NetworkError) { try NetworkRequestValidation.check(headers) } catch { invalid = error }
    fields = headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    contentType = value(of: "content-type")
    accept = value(of: "accept")
  }

  private func value(of name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }

  /// Adds the fields that the request does not already have. `isOwnOrigin`: whether the request goes to the service of
  /// the client; no other one must receive a credential.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if a field is not valid.
  func add(to request: inout URLRequest, isOwnOrigin: Bool, _ secretFields: Set<String>) throws(NetworkError) {
    if let invalid { throw invalid }
    for (name, value) in fields where request.value(forHTTPHeaderField: name) == nil {
      if !isOwnOrigin, NetworkSensitiveHeader.matches(name, value, known: secretFields) { continue }
      request.setValue(value, forHTTPHeaderField: name)
    }
  }
}
