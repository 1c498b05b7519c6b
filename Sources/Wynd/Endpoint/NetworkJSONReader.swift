import Foundation

/// Reads a JSON text (RFC 8259) in one pass.
///
/// `JSONDecoder` has to try one type after the other for a value whose type is not known, and `JSONSerialization` rounds
/// numbers.
nonisolated struct NetworkJSONReader {
  private let bytes: [UInt8]
  private var position = 0
  private var depth = 0

  /// - Throws: A `DecodingError` if the text is not valid.
  static func value(of data: Data) throws -> JSONValue {
    // Validates the encoding. Parts between ASCII characters are valid then, too.
    guard let text = String(data: data, encoding: .utf8) else { throw error("not UTF-8") }
    let byteOrderMark = "\u{FEFF}".utf8
    let hasByteOrderMark = text.utf8.starts(with: byteOrderMark)
    var reader = NetworkJSONReader(bytes: [UInt8](text.utf8.dropFirst(hasByteOrderMark ? byteOrderMark.count : 0)))
    let value = try reader.value()
    reader.skipSpace()
    if reader.position < reader.bytes.count { throw reader.invalid() }
    return value
  }

  private mutating func value() throws -> JSONValue {
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return try nested { reader in .object(try reader.members()) }
    case UInt8(ascii: "["): return try nested { reader in .array(try reader.elements()) }
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func nested(_ read: (inout Self) throws -> JSONValue) throws -> JSONValue {
    depth += 1
    defer { depth -= 1 }
    if depth > JSONValue.maxDepth { throw Self.error("more than \(JSONValue.maxDepth) levels") }
    return try read(&self)
  }

  private mutating func elements() throws -> [JSONValue] {
    var elements: [JSONValue] = []
    position += 1
    if take("]") { return elements }
    repeat { elements.append(try value()) } while take(",")
    if !take("]") { throw invalid() }
    return elements
  }

  private mutating func members() throws -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    position += 1
    if take("}") { return members }
    repeat {
      skipSpace()
      let name = try string()
      if !take(":") { throw invalid() }
      let value = try value()
      // The first of a repeated name counts, as in `JSONDecoder`.
      if members[name] == nil { members[name] = value }
    } while take(",")
    if !take("}") { throw invalid() }
    return members
  }

  // MARK: - Tokens

  private mutating func word(_ word: String, _ value: JSONValue) throws -> JSONValue {
    guard bytes[position...].starts(with: word.utf8) else { throw invalid() }
    position += word.utf8.count
    return value
  }

  private mutating func number() throws -> JSONValue.Number {
    let start = position
    skip("-")
    if !skip("0") { try skipDigits() }
    if skip(".") { try skipDigits() }
    if skip("e") || skip("E") {
      if !skip("+") { skip("-") }
      try skipDigits()
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard let number = JSONValue.Number(text: text) else { throw Self.error("a number that is too large") }
    return number
  }

  private mutating func skipDigits() throws {
    let start = position
    while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { position += 1 }
    if position == start { throw invalid() }
  }

  private mutating func string() throws -> String {
    if !skip("\"") { throw invalid() }
    var text = ""
    while true {
      let start = position
      while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= UInt8(ascii: " ") {
        position += 1
      }
      text += String(decoding: bytes[start..<position], as: UTF8.self)
      if skip("\"") { return text }
      if !skip("\\") { throw invalid() }
      text.unicodeScalars.append(try escapedScalar())
    }
  }

  /// The character of an escape sequence, after its backslash.
  private mutating func escapedScalar() throws -> Unicode.Scalar {
    let escapes: [Unicode.Scalar: Unicode.Scalar] = [
      "\"": "\"", "\\": "\\", "/": "/", "b": "\u{8}", "f": "\u{C}", "n": "\n", "r": "\r", "t": "\t",
    ]
    guard let letter = next else { throw invalid() }
    if letter != UInt8(ascii: "u") {
      guard let scalar = escapes[Unicode.Scalar(letter)] else { throw invalid() }
      position += 1
      return scalar
    }
    position += 1
    var units = [try codeUnit()]
    if UTF16.isLeadSurrogate(units[0]) {
      if !skip("\\") || !skip("u") { throw invalid() }
      units.append(try codeUnit())
    }
    // A lone surrogate would become U+FFFD.
    var decoder = UTF16()
    var iterator = units.makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { throw invalid() }
    return scalar
  }

  private mutating func codeUnit() throws -> UInt16 {
    let digits = bytes[position...].prefix(4)
    // A sign is valid for the initializer.
    let areDigits = digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    guard digits.count == 4, areDigits, let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16) else {
      throw invalid()
    }
    position += 4
    return unit
  }

  // MARK: - Characters

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, " \t\n\r".utf8.contains(byte) { position += 1 }
  }

  @discardableResult
  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    return skip(character)
  }

  private func invalid() -> DecodingError {
    Self.error(position < bytes.count ? "not valid JSON at byte \(position)" : Self.cut)
  }

  /// The reason for a text that is valid up to its end.
  static let cut = "it ends in the middle"

  private static func error(_ reason: String) -> DecodingError {
    .dataCorrupted(
      .init(codingPath: [], debugDescription: reason, underlyingError: NetworkUnreadableText(description: reason)))
  }
}
