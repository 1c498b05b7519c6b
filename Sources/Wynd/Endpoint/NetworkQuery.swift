public import Foundation

/// The query of a call that is not a dictionary.
///
/// ```swift
/// let found: [User] = try await client.load(.get("/users", query: .encoding(filter)))
/// let more: [User] = try await client.load(.get("/users", query: .items([URLQueryItem(name: "page", value: "2")])))
/// ```
nonisolated public struct NetworkQuery: Sendable {
  let items: @Sendable () throws -> [URLQueryItem]

  /// The members of a struct, written as those of a dictionary.
  public static func encoding(_ value: some Encodable & Sendable) -> NetworkQuery {
    NetworkQuery { try URLQueryItem.networkItems(of: value) }
  }

  /// Names and values. Encoding them takes microseconds.
  static func values(_ values: NetworkValues) -> NetworkQuery {
    values.isEmpty ? NetworkQuery { [] } : .encoding(NetworkObject(values))
  }

  /// Query items, as plain text.
  public static func items(_ items: [URLQueryItem]) -> NetworkQuery { NetworkQuery { items } }
}

nonisolated extension NetworkQuery: CustomStringConvertible {
  /// Nothing of the values, because they may be secret.
  public var description: String { "a query" }
}

nonisolated extension URLQueryItem {
  /// The members of a struct or a dictionary as query items or form fields, sorted by name.
  ///
  /// An array repeats its name (`tags=a&tags=b`), or has indices if it contains arrays or objects (`boxes[0][w]=1`).
  /// The names of nested values are in brackets (`filter[age]=3`), Boolean values are `true` or `false`, dates are ISO
  /// 8601, and nil values are omitted.
  ///
  /// - Throws: The error of encoding the value, or an `EncodingError` if it is neither a struct nor a dictionary.
  static func networkItems(of value: some Encodable) throws -> [URLQueryItem] {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .networkDefault
    guard let node = try JSONDecoder().decode(NetworkQueryNode?.self, from: encoder.encode(value)) else { return [] }
    let context = EncodingError.Context(codingPath: [], debugDescription: "only a struct or a dictionary has names")
    guard case .object(let members) = node else { throw EncodingError.invalidValue(value, context) }
    return members.networkSorted.flatMap { $0.value.items($0.key) }
  }
}

/// JSON without nulls, and with its numbers as text, because a `Double` would round long ones.
nonisolated private enum NetworkQueryNode: Decodable {
  case text(String)
  case array([NetworkQueryNode])
  case object([String: NetworkQueryNode])

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    func text<Value: Decodable>(_ type: Value.Type) -> Self? { (try? value.decode(type)).map { .text("\($0)") } }
    self =
      try text(Bool.self) ?? text(String.self) ?? text(Decimal.self) ?? text(Double.self)
      ?? (try? .array(value.decode([Self?].self).compactMap { $0 }))
      ?? .object(value.decode([String: Self?].self).compactMapValues { $0 })
  }

  private var isText: Bool { if case .text = self { true } else { false } }

  func items(_ name: String) -> [URLQueryItem] {
    switch self {
    case .text(let text): [URLQueryItem(name: name, value: text)]
    case .object(let members): members.networkSorted.flatMap { $0.value.items("\(name)[\($0.key)]") }
    case .array(let nodes) where nodes.allSatisfy(\.isText): nodes.flatMap { $0.items(name) }
    case .array(let nodes): nodes.enumerated().flatMap { $1.items("\(name)[\($0)]") }
    }
  }
}

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
