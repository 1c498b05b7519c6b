import Foundation

/// Where the body of a response belongs in the file.
nonisolated struct NetworkDownloadBody: Equatable, Sendable {
  /// The offset of its first byte, which is at most ``kept``, or 0.
  var start: Int64
  /// The offset after its last byte; nil if the response does not say it.
  var end: Int64?
  /// Whether the response states the length of its body, and it is that of `start` to `end`.
  var isLengthStated: Bool
  /// The number of bytes of the partial file that stay. The body repeats those from `start` on.
  var kept: Int64

  /// Whether the bytes of the body stay, when it has ended with this size of the file. A body of another length than
  /// the response says might be another part of the file, which would be continued at the wrong place.
  func isTrusted(at size: Int64, isCutOff: Bool) -> Bool {
    end == nil || size == end || (isCutOff && isLengthStated)
  }
}
