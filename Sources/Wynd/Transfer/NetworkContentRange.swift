import Foundation

/// A Content-Range field (RFC 9110 §14.4): `bytes 5-9/200`, `bytes 5-9/*`, or `bytes */200` in a 416 response.
nonisolated struct NetworkContentRange: Equatable, Sendable {
  /// The positions of the first and the last byte; nil if the range cannot be satisfied.
  var first: Int64?
  var last: Int64?
  /// The size of the complete file in bytes; nil for `*`.
  var total: Int64?

  /// Nil if the field is not valid: a part at the wrong position would corrupt the file.
  init?(_ text: String) {
    let parts = text.trimmingCharacters(in: .whitespaces).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased().hasPrefix("bytes ") else { return nil }
    total = NetworkDigits.number(parts[1])
    if total == nil, parts[1] != "*" { return nil }
    let range = parts[0].dropFirst("bytes ".count).split(separator: "-", omittingEmptySubsequences: false)
    if range == ["*"], total != nil { return }
    guard range.count == 2, let first = NetworkDigits.number(range[0]), let last = NetworkDigits.number(range[1])
    else { return nil }
    if first > last { return nil }
    if let total, last >= total { return nil }
    self.first = first
    self.last = last
  }
}
