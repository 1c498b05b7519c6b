public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a performer supplies to the calls that are made on it.
nonisolated public struct NetworkDefaults: Sendable {
  /// The base URL with which a client completes requests that have no host.
  public internal(set) var baseURL: URL?
  /// Encodes the JSON bodies of endpoints that specify no encoder.
  public var encoder: JSONEncoder?
  /// Decodes the responses of endpoints that specify no decoder. An async call and a client with middleware decode on a
  /// thread of Swift's tasks, whatever actor the caller is on. Otherwise, a call with a completion handler decodes before
  /// the handler, on the ``NetworkPerformer/delegateQueue``.
  public var decoder: JSONDecoder?
  /// The session that sends the calls. Its configuration is read only if necessary, because each read copies it.
  var session: URLSession?
  /// Waits between the connections of an event stream. The retry loop has a clock of its own.
  var clock: any RetryClock = ContinuousRetryClock()
  /// What other folders supply.
  var values = NetworkTypedValues()

  /// Makes defaults.
  public init(encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil) {
    self.encoder = encoder
    self.decoder = decoder
  }
}

nonisolated extension NetworkDefaults: CustomStringConvertible {
  /// The base URL, without what may be secret.
  public var description: String { "NetworkDefaults(\(baseURL?.redactedForLog ?? "no base URL"))" }
}

/// What other folders keep with a call, or with the defaults of a performer: one value of each type. Core does not know
/// them.
nonisolated struct NetworkTypedValues: Sendable {
  private var values: [any Sendable] = []

  subscript<Value: Sendable>(_ type: Value.Type) -> Value? {
    get { values.first { $0 is Value } as? Value }
    set {
      values.removeAll { $0 is Value }
      if let newValue { values.append(newValue) }
    }
  }

  /// Adds the values whose type is not yet there.
  mutating func add(_ other: Self) {
    for new in other.values where !values.contains(where: { type(of: $0) == type(of: new) }) { values.append(new) }
  }
}
