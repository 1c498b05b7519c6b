/// Numbers in header fields: ASCII digits only, without a sign or white space (RFC 5234, `1*DIGIT`).
nonisolated enum NetworkDigits {
  static func isNumber(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }

  /// The number; nil if the text is not one, or it does not fit.
  static func number(_ text: some StringProtocol) -> Int64? {
    isNumber(text) ? Int64(text) : nil
  }
}
