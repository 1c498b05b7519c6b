import Foundation

/// The header field Link (RFC 8288 §3): `<target>; rel="next"; title="a, b", <target>; rel=last`.
nonisolated struct NetworkLinkField: Sendable {
  struct Link: Sendable, Equatable {
    /// A URL, or a reference relative to that of the response.
    var target: String
    /// By name, in lowercase. If a name occurs more than once, the first value counts (§3.3).
    var parameters: [String: String] = [:]
  }
  private var rest: ArraySlice<UInt8>

  /// The absolute URL of the first link with this relation.
  static func target(of relation: String, in field: String, from origin: URL?) -> URL? {
    // A user name and a password of the request do not belong to the target.
    let base = origin?.networkAddress
    let link = links(in: field).first { link in
      // The relation types are separated by white space, and compared without regard to case (§2.1).
      let relations = link.parameters["rel"]?.lowercased().split { $0 == " " || $0 == "\t" } ?? []
      let isOfResponse = link.parameters["anchor"].map { resolved($0, base) == base } ?? true
      return isOfResponse && relations.contains { $0 == relation.lowercased() }
    }
    return link.flatMap { resolved($0.target, base) }
  }

  /// The links in order. What is not a link is skipped.
  static func links(in field: String) -> [Link] {
    var parser = NetworkLinkField(rest: Array(field.utf8)[...])
    var links: [Link] = []
    while !parser.rest.isEmpty {
      parser.skip(" \t")
      if let target = parser.takeTarget() { links.append(Link(target: target, parameters: parser.takeParameters())) }
      _ = parser.takeText(until: ",")
      parser.rest = parser.rest.dropFirst()
    }
    return links
  }

  private static func resolved(_ target: String, _ base: URL?) -> URL? {
    // Foundation makes no URL of an empty text. It refers to the response itself (RFC 3986 §4.4).
    if target.isEmpty { return base }
    return URL.networkReference(target, relativeTo: base)
  }

  private mutating func takeTarget() -> String? {
    guard take("<") else { return nil }
    guard rest.contains(UInt8(ascii: ">")) else {
      rest = []
      return nil
    }
    let target = takeText(until: ">")
    rest = rest.dropFirst()
    return target.trimmingCharacters(in: .whitespaces)
  }

  private mutating func takeParameters() -> [String: String] {
    var parameters: [String: String] = [:]
    while true {
      skip(" \t")
      if !take(";") { return parameters }
      skip(" \t")
      let name = takeText(until: " \t=;,").lowercased()
      skip(" \t")
      let value = take("=") ? takeValue() : ""
      if !name.isEmpty, parameters[name] == nil { parameters[name] = value }
    }
  }

  /// A token or a quoted string (RFC 9110 §5.6.4), without the quotes and backslashes of the latter.
  private mutating func takeValue() -> String {
    skip(" \t")
    if !take("\"") { return takeText(until: ";,").trimmingCharacters(in: .whitespaces) }
    var content: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      let isEscape = byte == UInt8(ascii: "\\")
      if let next = isEscape ? rest.popFirst() : byte { content.append(next) }
    }
    return String(decoding: content, as: UTF8.self)
  }

  private mutating func takeText(until ends: String) -> String {
    let ends = Array(ends.utf8)
    let text = rest.prefix { !ends.contains($0) }
    rest = rest.dropFirst(text.count)
    return String(decoding: text, as: UTF8.self)
  }

  private mutating func skip(_ bytes: String) {
    let bytes = Array(bytes.utf8)
    rest = rest.drop(while: bytes.contains)
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard let first = rest.first, UInt32(first) == character.value else { return false }
    rest = rest.dropFirst()
    return true
  }
}
