import Foundation

/// A header field that is a list, such as Cache-Control, Vary or Link (RFC 9110 §5.6.1), or has parameters, such as
/// Content-Type.
nonisolated enum NetworkListField {
  /// `name`, `name=token` or `name="quoted string"`.
  struct Element: Equatable, Sendable {
    /// In lowercase. An element that is a quoted string keeps its quotes.
    let name: String
    /// Without the quotes of a quoted string; nil without a `=`.
    let value: String?
    /// Whether a quote or a `<` remains outside of a quoted string, so that the end of the element is a guess.
    let isMalformed: Bool

    init(_ text: String) {
      let equals = text.hasPrefix("\"") ? nil : text.firstIndex(of: "=")
      name = text[..<(equals ?? text.endIndex)].trimmingCharacters(in: NetworkDigits.whiteSpace).lowercased()
      let written = equals.map { text[$0...].dropFirst().trimmingCharacters(in: NetworkDigits.whiteSpace) }
      let unquoted = written.map { Self.unquoted($0) ?? $0 }
      value = unquoted
      isMalformed = [name, written ?? ""].contains { text in
        Self.unquoted(text) == nil && text.utf8.contains { "\"<".utf8.contains($0) }
      }
    }

    /// Whether the element is a token (§5.6.2), such as a field name.
    var isToken: Bool { value == nil && NetworkRequestValidation.isToken(name) }

    /// The text without its quotes if it is one quoted string, otherwise nil. Escaped quotes and backslashes are
    /// omitted, because no value that matters contains one.
    private static func unquoted(_ text: String) -> String? {
      guard text.utf8.count > 1, text.hasPrefix("\""), text.hasSuffix("\"") else { return nil }
      let content = text.dropFirst().dropLast().replacingOccurrences(of: "\\\\", with: "")
        .replacingOccurrences(of: "\\\"", with: "")
      if content.contains("\"") || content.hasSuffix("\\") { return nil }
      // Each character may follow a backslash (§5.6.4).
      return content.replacingOccurrences(of: "\\", with: "")
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
