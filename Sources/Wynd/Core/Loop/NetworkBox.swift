/// Keeps a large value behind one reference, so that the code that copies its owner is short.
nonisolated final class NetworkBox<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
