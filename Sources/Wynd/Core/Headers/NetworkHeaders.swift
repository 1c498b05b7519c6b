import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The header fields of a request or a response.
///
/// ```swift
/// let headers: NetworkHeaders = ["Accept": "application/json", "X-Page": "7"]
/// let more: NetworkHeaders = [.authorization(bearer: token), .userAgent("Expenses/1.0")]
/// let response = try await session.networkResponse(for: url)
/// let total = response.headers["x-total"]        // the case of a name does not matter
/// ```
nonisolated public struct NetworkHeaders: Sendable, Equatable, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// The fields, in the order in which they are added to a request. Several fields may have the same name.
  public var fields: [NetworkHeader]

  /// Makes header fields from a list.
  public init(_ fields: [NetworkHeader] = []) { self.fields = fields }
  /// Makes header fields from names and values, in the order of the names.
  public init(_ values: [String: String]) { fields = values.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) } }
  /// The fields of a response, or those that a session adds to its requests.
  init(_ fields: [AnyHashable: Any]?) {
    self.init(fields?.reduce(into: [String: String]()) { $0["\($1.key)"] = $1.value as? String } ?? [:])
  }
  /// Makes header fields from a list.
  public init(arrayLiteral fields: NetworkHeader...) { self.fields = fields }
  /// Makes header fields from names and values.
  public init(dictionaryLiteral values: (String, String)...) { fields = values.map { .init($0.0, $0.1) } }

  /// The value of the field of this name, whose case does not matter. The values of several such fields are joined by
  /// “, ” (RFC 9110 §5.3). Nil means that there is no such field. Setting nil removes the fields.
  public subscript(name: String) -> String? {
    get {
      let values = fields.filter { $0.isNamed(name) }.map(\.value)
      return values.isEmpty ? nil : values.joined(separator: ", ")
    }
    set {
      fields.removeAll { $0.isNamed(name) }
      if let newValue { fields.append(.init(name, newValue)) }
    }
  }
}

nonisolated extension NetworkHeaders: CustomStringConvertible {
  /// The fields, with “…” in place of a sensitive value.
  public var description: String { "\(fields)" }
}
