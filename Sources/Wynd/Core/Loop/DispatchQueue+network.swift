import Foundation

nonisolated extension DispatchQueue {
  /// A queue of this library, for work that a person waits for.
  @inline(never)
  static func network(_ name: String) -> DispatchQueue { DispatchQueue(label: "Wynd.\(name)", qos: .userInitiated) }
}
