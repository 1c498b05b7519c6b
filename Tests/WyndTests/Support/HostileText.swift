/// Text and numbers that a server may send, and at which parsers fail elsewhere. Tests put each of them at each place of a
/// valid text.
enum HostileText {
  /// The limits of the types that hold numbers, with their neighbors.
  static let numbers: [String] = [
    "0", "1", "32767", "32768", "65535", "65536", "999999999999999", "1000000000000000", "1000000000000001",
    "9007199254740991", "9007199254740992", "9007199254740993",
    "2147483646", "2147483647", "2147483648", "4294967294", "4294967295", "4294967296",
    "9223372036854775806", "9223372036854775807", "9223372036854775808", "18446744073709551614",
    "18446744073709551615", "18446744073709551616", String(repeating: "9", count: 400),
  ]

  /// Combining marks, joiners, controls, quotes, and what counts as white space or as a digit elsewhere.
  static let marks: [String] = [
    "\u{301}", "\u{20DD}", "\u{FE0F}", "\u{200D}", "\u{1F3FD}", "\u{0}", "\u{7F}", "\u{85}", "\u{A0}", "\u{2028}",
    "\u{3000}", "\u{FEFF}", "\"", "'", "\\", "\t", "\u{B2}", "\u{661}", "\u{FF11}", "\u{17F}", "\u{10FFFF}",
  ]

  /// The text with each mark before each of its scalars, and at its end.
  static func marked(_ text: String) -> [String] {
    let scalars = Array(text.unicodeScalars)
    return (0...scalars.count).flatMap { place in
      marks.map { mark in
        var scalars = scalars
        scalars.insert(contentsOf: mark.unicodeScalars, at: place)
        return String(String.UnicodeScalarView(scalars))
      }
    }
  }
}
