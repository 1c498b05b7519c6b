import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The header fields of a client, checked once, when they are set.
nonisolated final class NetworkClientHeaders: Sendable {
  /// Why no call with these fields can be sent; nil if they are valid.
  private let invalid: NetworkError?
  private let fields: [(name: String, value: String)]
  let contentType: String?
  let accept: String?

  init(_ headers: [String: String]) {
    let fields = headers.networkSorted.map { (name: $0.key, value: $0.value) }
    func value(of name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }
    self.fields = fields
    contentType = value(of: "content-type")
    accept = value(of: "accept")
    do throws(NetworkError) {
      try NetworkRequestValidation.check(headers)
      invalid = nil
    } catch { invalid = error }
  }

  /// Adds the fields that the request does not already have. `isOwnOrigin`: whether the request goes to the service of
  /// the client; no other one must receive a credential.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if a field is not valid.
  func add(to plan: inout NetworkCallPlan, isOwnOrigin: Bool) throws(NetworkError) {
    if let invalid { throw invalid }
    for (name, value) in fields where plan.request.value(forHTTPHeaderField: name) == nil {
      if !isOwnOrigin, NetworkSensitiveHeader.matches(name, value, known: plan.clientMiddleware.secretFields) {
        continue
      }
      plan.request.setValue(value, forHTTPHeaderField: name)
    }
  }
}
