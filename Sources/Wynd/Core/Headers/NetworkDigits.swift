import Foundation

/// Numbers in text from outside: ASCII digits only, without a sign or white space (RFC 5234, `1*DIGIT`).
///
/// Nothing else turns text into numbers. A number is at most 10¹⁵, so that no sum of some of them, and no product with
/// 1000, overflows. It has 64 bits on a watch, too.
nonisolated enum NetworkDigits {
  static let largest: Int64 = 1_000_000_000_000_000

  static func isNumber(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }

  /// The number; nil if the text is not a number, or the number is larger than 10¹⁵.
  static func number(_ text: some StringProtocol) -> Int64? {
    guard isNumber(text), let number = Int64(text), number <= largest else { return nil }
    return number
  }

  /// The number between optional white space. Larger numbers become 10¹⁵.
  static func clamped(_ value: some StringProtocol) -> Int64? {
    let text = value.trimmingCharacters(in: whiteSpace)
    return isNumber(text) ? number(text) ?? largest : nil
  }

  /// A number with or without decimals, between optional white space, in thousandths, which are rounded up. So a number
  /// of seconds becomes one of milliseconds.
  ///
  /// RFC 9110 §10.2.3 allows no decimals in Retry-After, but large services send them ("2.0").
  static func thousandths(_ value: String) -> Int64? {
    let text = value.trimmingCharacters(in: whiteSpace)
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy(isNumber), let number = Double(text) else { return nil }
    // 2.003 is not exactly a `Double`.
    let millionths = (min(number, Double(largest)) * 1_000_000).rounded()
    return Int64((millionths / 1000).rounded(.up))
  }

  static let whiteSpace = CharacterSet(charactersIn: " \t")
}
