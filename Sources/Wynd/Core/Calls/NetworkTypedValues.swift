/// What other folders keep with a call, or with the defaults of a performer: one value of each type. Core does not know
/// them.
nonisolated struct NetworkTypedValues: Sendable {
  private var values: [(type: ObjectIdentifier, value: any Sendable)] = []

  subscript<Value: Sendable>(_ type: Value.Type) -> Value? {
    get { values.first { $0.type == ObjectIdentifier(type) }?.value as? Value }
    set {
      values.removeAll { $0.type == ObjectIdentifier(type) }
      if let newValue { values.append((ObjectIdentifier(type), newValue)) }
    }
  }

  /// Adds the values whose type is not yet there.
  mutating func add(_ other: Self) {
    for added in other.values where !values.contains(where: { $0.type == added.type }) { values.append(added) }
  }
}
