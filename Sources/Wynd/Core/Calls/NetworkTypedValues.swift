/// What other folders keep with a call, or with the defaults of a performer: one value of each type. Core does not know
/// them.
nonisolated struct NetworkTypedValues: Sendable {
  private var values: [(type: ObjectIdentifier, value: any Sendable)] = []

  subscript<Value: Sendable>(_ type: Value.Type) -> Value? {
    get { value(of: ObjectIdentifier(type)) as? Value }
    set { set(newValue, of: ObjectIdentifier(type)) }
  }

  // Not generic, because the compiler copies the subscript for each type.
  @inline(never)
  private func value(of type: ObjectIdentifier) -> (any Sendable)? { values.first { $0.type == type }?.value }

  @inline(never)
  private mutating func set(_ value: (any Sendable)?, of type: ObjectIdentifier) {
    values.removeAll { $0.type == type }
    if let value { values.append((type, value)) }
  }

  /// Adds the values whose type is not yet there.
  mutating func add(_ other: Self) {
    for added in other.values where !values.contains(where: { $0.type == added.type }) { values.append(added) }
  }
}
