import Testing

@testable import Wynd

/// Numbers in text from outside are at most 10¹⁵, whatever the text.
struct NetworkDigitsTests {
  static let largest: Int64 = 1_000_000_000_000_000

  @Test(arguments: HostileText.numbers) func limitsEachNumber(_ text: String) {
    // 16 digits fit into any of the types.
    let number = text.count <= 16 ? Int64(text) : nil
    #expect(NetworkDigits.number(text) == number.flatMap { $0 <= Self.largest ? $0 : nil })
    #expect(NetworkDigits.clamped(" \(text)\t") == min(number ?? .max, Self.largest))
    // A `Double` has 16 digits.
    let expected = min(number ?? .max, Self.largest) * 1000
    #expect(NetworkDigits.thousandths(text).map { abs($0 - expected) <= 1024 } == true)
  }

  @Test(arguments: HostileText.marked("12")) func acceptsDigitsOnly(_ text: String) {
    #expect(NetworkDigits.number(text) == nil, "\(text.unicodeScalars.map(\.value))")
    let isSpaced = text.first == "\t" || text.last == "\t"
    #expect(NetworkDigits.clamped(text) == (isSpaced ? 12 : nil))
    #expect(NetworkDigits.thousandths(text) == (isSpaced ? 12_000 : nil))
  }

  @Test func roundsThousandthsUp() {
    let rows: [(String, Int64?)] = [
      ("2.0", 2000), ("2.003", 2003), ("0.0001", 1), ("1.9999", 2000),
      ("999999999999999.9999", 1_000_000_000_000_000_000),
      (".5", nil), ("5.", nil), ("1.2.3", nil), ("-1", nil), ("+1", nil), ("1e3", nil), ("0x1", nil), ("nan", nil),
      ("", nil),
    ]
    for (text, expected) in rows { #expect(NetworkDigits.thousandths(text) == expected, "\(text)") }
  }
}
