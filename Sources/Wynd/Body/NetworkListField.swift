import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A header field that is a list, such as Cache-Control, Vary or Link (RFC 9110 §5.6.1), or has parameters, such as
/// Content-Type.
nonisolated enum NetworkListField {
  /// `name`, `name=token` or `name="quoted string"`.
  struct Element: Equatable, Sendable {
    /// In lowercase. An element that is a quoted string keeps its quotes.
    let name: String
    /// Without the quotes of a quoted string; nil without a `=`.
    let value: String?
    /// Whether the element is neither a token nor a quoted string, so that its end, and what it means, is a guess.
    let isMalformed: Bool

    init(_ text: String) {
      let bytes = text.utf8
      let equals = bytes.first == UInt8(ascii: "\"") ? nil : bytes.firstIndex(of: UInt8(ascii: "="))
      let before = Substring(bytes[..<(equals ?? bytes.endIndex)])
      name = before.trimmingCharacters(in: NetworkDigits.whiteSpace).lowercased()
      let written = equals.map { Substring(bytes[$0...].dropFirst()).trimmingCharacters(in: NetworkDigits.whiteSpace) }
      let unquoted = written.flatMap(Self.unquoted)
      value = unquoted ?? written
      // A value that is a quoted string may contain anything.
      let parts = unquoted == nil ? [name, written ?? ""] : [name]
      isMalformed = parts.contains { text in
        Self.unquoted(text) == nil && text.utf8.contains { "\"<; \t".utf8.contains($0) || $0 > 126 }
      }
    }

    /// Whether the element is a token (§5.6.2), such as a field name.
    var isToken: Bool { value == nil && NetworkRequestValidation.isToken(name) }

    /// The text without its quotes and backslashes if it is one quoted string (§5.6.4), otherwise nil.
    private static func unquoted(_ text: String) -> String? {
      let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
      guard text.utf8.count > 1, text.utf8.first == quote, text.utf8.last == quote else { return nil }
      var content: [UInt8] = []
      var isEscaped = false
      for byte in text.utf8.dropFirst().dropLast() {
        if byte == quote, !isEscaped { return nil }
        isEscaped = byte == backslash && !isEscaped
        if !isEscaped { content.append(byte) }
      }
      return isEscaped ? nil : String(decoding: content, as: UTF8.self)
    }
  }

  static func elements(of field: String?, separatedBy separator: Unicode.Scalar = ",") -> [Element] {
    split(field ?? "", at: separator).map { Element($0) }
  }

  /// Splits at each separator outside of quoted strings and of `<…>`, the target of a link, which may contain anything.
  /// Empty parts are omitted.
  static func split(_ field: String, at separator: Unicode.Scalar) -> [String] {
    var end: Unicode.Scalar?
    var isEscaped = false
    let parts = field.unicodeScalars.split { scalar in
      let isEnd = scalar == end && !isEscaped
      isEscaped = end == "\"" && scalar == "\\" && !isEscaped
      if isEnd {
        end = nil
      } else if end == nil {
        end = ends[scalar]
      }
      return scalar == separator && end == nil
    }
    return parts.map { String($0).trimmingCharacters(in: NetworkDigits.whiteSpace) }.filter { !$0.isEmpty }
  }

  private static let ends: [Unicode.Scalar: Unicode.Scalar] = ["\"": "\"", "<": ">"]
}

nonisolated extension HTTPURLResponse {
  /// The Content-Type; empty without one. If several were sent, the last valid one counts, as in browsers (WHATWG
  /// Fetch, “extract a MIME type”).
  var networkContentType: String {
    let value = networkValue(of: "Content-Type") ?? ""
    return NetworkListField.split(value, at: ",").last { Self.isMediaType(Self.withoutParameters($0)) } ?? value
  }

  /// The Content-Type without parameters, in lowercase; empty without one.
  var networkMediaType: String { Self.withoutParameters(networkContentType).lowercased() }

  private static func withoutParameters(_ type: String) -> String {
    String(type.unicodeScalars.prefix { $0 != ";" }).trimmingCharacters(in: .whitespaces)
  }

  /// Whether the text is `type/subtype`.
  static func isMediaType(_ text: String) -> Bool {
    let names = text.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
    return names.count == 2 && names.allSatisfy(NetworkRequestValidation.isToken)
  }
}
