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
    values.isEmpty ? .items([]) : .encoding(NetworkObject(values))
  }

  /// Query items, as plain text.
  public static func items(_ items: [URLQueryItem]) -> NetworkQuery { NetworkQuery { items } }
}

nonisolated extension NetworkQuery: CustomStringConvertible {
  /// Nothing of the values, because they may be secret.
  public var description: String { "a query" }
}
