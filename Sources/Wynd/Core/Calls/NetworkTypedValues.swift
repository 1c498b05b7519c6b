/// What other folders keep with a call, or with the defaults of a performer: one value of each type. Core does not know
/// them.
nonisolated struct NetworkTypedValues: Sendable {
  private var values: [ObjectIdentifier: any Sendable] = [:]

  subscript<Value: Sendable>(_ type: Value.Type) -> Value? {
    get { values[ObjectIdentifier(type)] as? Value }
    set { values[ObjectIdentifier(type)] = newValue }
  }

  /// Adds the values whose type is not yet there.
  mutating func add(_ other: Self) { values.merge(other.values) { own, _ in own } }
}
