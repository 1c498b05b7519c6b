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
