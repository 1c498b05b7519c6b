import Foundation

/// The query of a call: names and values, or any `Encodable`.
///
/// ```swift
/// let users: [User] = try await client.load(.get("/users", query: ["page": 2, "tags": ["a", "b"]]))
/// struct Filter: Encodable { var name: String }
/// let found: [User] = try await client.load(.get("/users", query: .init(Filter(name: "Ada"))))
/// ```
nonisolated public struct NetworkQuery: Sendable, ExpressibleByDictionaryLiteral {
  private let encode: @Sendable () throws -> [URLQueryItem]

  /// Makes a query of values of different types. nil values are omitted.
  public init(dictionaryLiteral values: (String, (any Encodable & Sendable)?)...) {
    encode = { try QueryEncoder().encode(QueryEncoder.Values(values) { $1 }) }
  }

  /// Makes a query of the members of a struct or a dictionary.
  ///
  /// - Parameters:
  ///   - value: The value to encode.
  ///   - encoder: How arrays and dates are written.
  public init(_ value: some Encodable & Sendable, encoder: QueryEncoder = QueryEncoder()) {
    encode = { try encoder.encode(value) }
  }

  /// The items of the query, as plain text.
  ///
  /// - Throws: The error of encoding a value.
  func items() throws -> [URLQueryItem] { try encode() }
}

nonisolated extension NetworkQuery: CustomStringConvertible {
  /// Nothing of the values, because they may be secret.
  public var description: String { "a query" }
}
