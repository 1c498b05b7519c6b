import Foundation

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
