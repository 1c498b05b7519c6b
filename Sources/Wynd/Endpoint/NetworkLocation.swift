public import Foundation

/// Where an ``AdHocEndpoint`` goes: a `String`, which is a path, or a whole `URL`.
nonisolated public protocol NetworkLocation: Sendable {
  /// A path, as plain text, or a whole URL, whose path is not used.
  var networkLocation: (path: String, url: URL?) { get }
}
nonisolated extension String: NetworkLocation {
  /// The path.
  public var networkLocation: (path: String, url: URL?) { (self, nil) }
}
nonisolated extension URL: NetworkLocation {
  /// The whole URL.
  public var networkLocation: (path: String, url: URL?) { ("", self) }
}
