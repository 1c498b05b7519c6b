import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What is stored for a key.
nonisolated enum ResponseEntry: Sendable, Codable {
  case response(StoredResponse)
  /// Several responses, which are stored for keys with a variant.
  case variants(Variants)

  /// Says which header fields of the request select one of several responses (RFC 9111 §4.1).
  struct Variants: Sendable, Codable {
    /// The names that Vary lists.
    let fields: [String]
    /// Part of each ``ResponseKey/variant``, so that a response is found only with the entry that it was stored with.
    private let id: String

    init(fields: [String]) {
      self.fields = fields
      id = UUID().uuidString
    }

    /// The ``ResponseKey/variant`` of the response to a request. A field that is absent is not an empty one.
    func variant(of request: URLRequest) -> String {
      let values = fields.map { name in
        guard let value = request.value(forHTTPHeaderField: name) else { return name }
        return "\(name):\(Self.withoutSpaceAroundCommas(value))"
      }
      return ([id] + values).joined(separator: "\n")
    }

    /// White space around the commas of a list means nothing (RFC 9110 §5.6.1). In a quoted string it does.
    private static func withoutSpaceAroundCommas(_ value: String) -> String {
      if value.utf8.contains(UInt8(ascii: "\"")) { return value }
      let elements = value.unicodeScalars.split(separator: ",", omittingEmptySubsequences: false)
      return elements.map { String($0).trimmingCharacters(in: .whitespaces) }.joined(separator: ",")
    }
  }
}
