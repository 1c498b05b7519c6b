import Foundation

/// Numbers in header fields: ASCII digits only, without a sign or white space (RFC 5234, `1*DIGIT`).
nonisolated enum NetworkDigits {
  static func isNumber(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }

  /// The number; nil if the text is not a number, or the number does not fit.
  static func number(_ text: some StringProtocol) -> Int64? {
    isNumber(text) ? Int64(text) : nil
  }

  /// A number with or without decimals, between optional white space, in thousandths, which are rounded up. So a number
  /// of seconds becomes one of milliseconds.
  ///
  /// RFC 9110 §10.2.3 allows no decimals in Retry-After, but large services send them ("2.0").
  static func thousandths(_ value: String) -> Int? {
    let text = value.trimmingCharacters(in: whiteSpace)
    let parts = text.components(separatedBy: ".")
    guard parts.count <= 2, parts.allSatisfy(isNumber), let number = Double(text) else { return nil }
    // 2.003 is not exactly a `Double`.
    let millionths = (min(number, longest) * 1_000_000).rounded()
    return Int((millionths / 1000).rounded(.up))
  }
  private static let longest = 1e15

  /// The number between optional white space. Larger numbers become 10¹⁵.
  static func clamped(_ value: some StringProtocol) -> Int? {
    let text = value.trimmingCharacters(in: whiteSpace)
    return isNumber(text) ? min(Int(text) ?? .max, 1_000_000_000_000_000) : nil
  }

  static let whiteSpace = CharacterSet(charactersIn: " \t")
}
