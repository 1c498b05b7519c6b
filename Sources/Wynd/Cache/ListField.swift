/// A header field whose value is a comma-separated list, such as Cache-Control, Connection or Vary (RFC 9110 §5.6.1).
///
/// A quoted string is one token, whatever it contains (§5.6.4): `ext="a, max-age=60"` is one element.
nonisolated struct NetworkListField: Equatable, Sendable {
  /// An element with an optional value: `name`, `name=token` or `name="quoted string"`.
  struct Element: Equatable, Sendable {
    /// What precedes the first `=`, in lowercase. An element that is a quoted string keeps its quotes.
    var name: String
    /// What follows the first `=`, without the quotes and backslashes of a quoted string; nil without a `=`.
    var value: String?

    /// Whether the element is a token (RFC 9110 §5.6.2), such as a field name.
    var isToken: Bool { value == nil && NetworkRequestValidation.isToken(name) }
  }

  /// The elements in order, without empty ones.
  private(set) var elements: [Element] = []
  /// Whether a quoted string does not end, or begins or ends in the middle of a value. Where the elements end is then a
  /// guess: they are split at every comma, so that a restriction is found even if the sender meant it as one.
  private(set) var isMalformed = false

  /// Parses the value of a field; nil is an empty list.
  init(_ field: String?) {
    let bytes = Array((field ?? "").utf8)[...]
    if let parsed = Self.elements(bytes) {
      elements = parsed
      return
    }
    isMalformed = true
    for part in bytes.split(separator: UInt8(ascii: ",")) {
      let (name, value) = Self.pair(part)
      if !name.isEmpty { elements.append(Element(name: Self.text(name).lowercased(), value: value.map(Self.text))) }
    }
  }

  /// Returns nil if the list is malformed.
  private static func elements(_ field: ArraySlice<UInt8>) -> [Element]? {
    guard let parts = split(field) else { return nil }
    var elements: [Element] = []
    for part in parts {
      let (name, value) = pair(part)
      if name.isEmpty, value == nil { continue }
      if name.contains(quote), unquoted(name) == nil { return nil }
      var element = Element(name: text(name).lowercased(), value: value.map(text))
      if let value, value.contains(quote) {
        guard let content = unquoted(value) else { return nil }
        element.value = text(content[...])
      }
      elements.append(element)
    }
    return elements
  }

  /// Splits at the commas that are outside of quoted strings. Returns nil if a quoted string does not end.
  private static func split(_ field: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
    var parts: [ArraySlice<UInt8>] = []
    var start = field.startIndex
    var isQuoted = false
    var isEscaped = false
    for (index, byte) in zip(field.indices, field) {
      if isEscaped {
        isEscaped = false
      } else if byte == quote {
        isQuoted.toggle()
      } else if isQuoted {
        isEscaped = byte == backslash
      } else if byte == UInt8(ascii: ",") {
        parts.append(field[start..<index])
        start = index + 1
      }
    }
    return isQuoted ? nil : parts + [field[start...]]
  }

  /// Splits an element at the first `=` outside of a quoted string, and removes white space around both halves.
  private static func pair(_ element: ArraySlice<UInt8>) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>?) {
    let equals = element.firstIndex { $0 == UInt8(ascii: "=") || $0 == quote }
    guard let equals, element[equals] != quote else { return (trimmed(element), nil) }
    return (trimmed(element[..<equals]), trimmed(element[(equals + 1)...]))
  }

  /// Returns the content of a quoted string, or nil if the text is not exactly one quoted string.
  private static func unquoted(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.count >= 2, text.first == quote, text.last == quote else { return nil }
    var content: [UInt8] = []
    var isEscaped = false
    for byte in text.dropFirst().dropLast() {
      if !isEscaped, byte == quote { return nil }
      if !isEscaped, byte == backslash {
        isEscaped = true
      } else {
        content.append(byte)
        isEscaped = false
      }
    }
    // An escaped quote does not end the string.
    return isEscaped ? nil : content
  }

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    guard let first = text.firstIndex(where: { !isSpace($0) }), let last = text.lastIndex(where: { !isSpace($0) })
    else { return [] }
    return text[first...last]
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

  private static var quote: UInt8 { UInt8(ascii: "\"") }
  private static var backslash: UInt8 { UInt8(ascii: "\\") }
}
