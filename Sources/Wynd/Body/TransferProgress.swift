import Foundation

/// The progress of a transfer. It decreases only when the transfer starts over, or when a server sends the end of a
/// partial file again.
///
/// ```swift
/// ProgressView(value: progress.fraction)        // SwiftUI; without a known length it shows that something happens
/// ```
nonisolated public struct TransferProgress: Sendable, Equatable {
  /// Bytes that have been received or sent, and do not have to be transferred again.
  public var completed: Int64
  /// The number of all bytes; nil while the length is unknown.
  public var total: Int64?
  /// The completed fraction, from 0 to 1; nil while the length is unknown.
  public var fraction: Double? { total.map { $0 > 0 ? min(1, Double(completed) / Double($0)) : 1 } }

  /// Creates a progress value.
  public init(completed: Int64, total: Int64? = nil) {
    self.completed = completed
    self.total = total
  }
}
