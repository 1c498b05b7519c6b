import Foundation

/// Names and values of a query, a form or a JSON object: an ordinary dictionary.
///
/// ```swift
/// var query: NetworkValues = ["page": 2]
/// if let page { query["next"] = page + 1 }
/// let users: [User] = try await client.load(.get("/users", query: query))
/// let user: User = try await client.load(.post("/users", body: .json(["name": "Ada", "age": nil])))
/// ```
///
/// A value may be any `Encodable`. nil is left out of a query and a form, and is `null` in JSON.
public typealias NetworkValues = [String: (any Encodable & Sendable)?]

/// A nested object of values of different types, because a dictionary of them is not `Encodable` itself.
///
/// ```swift
/// let body: RequestBody = .json(["filter": ["age": 3, "name": "x"] as NetworkObject, "page": 1])
/// ```
nonisolated public struct NetworkObject: Encodable, Sendable, ExpressibleByDictionaryLiteral, CustomStringConvertible {
  private let values: NetworkValues
  /// Makes an object of names and values.
  public init(_ values: NetworkValues) { self.values = values }
  /// If a name is repeated, the last value is used.
  public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
    values = Dictionary(elements) { $1 }
  }
  /// Encodes the members of the object.
  public func encode(to encoder: any Encoder) throws {
    // A container keeps the names as they are, whatever the encoder does to those of properties.
    var container = encoder.singleValueContainer()
    try container.encode(values.mapValues(NetworkEncodable.init))
  }
  /// Nothing of the values, because they may be secret.
  public var description: String { "an object" }
}

/// A value whose type is not known. nil is encoded as `null`.
nonisolated private struct NetworkEncodable: Encodable, Sendable {
  let value: (any Encodable & Sendable)?

  func encode(to encoder: any Encoder) throws {
    // A container applies the encoder's date format.
    var container = encoder.singleValueContainer()
    if let value { try container.encode(value) } else { try container.encodeNil() }
  }
}
