import Foundation

/// The base URL of a client, taken apart once, when it is set: Foundation takes microseconds for each part of a URL.
nonisolated struct NetworkBaseURL: Sendable {
  private let parts: Swift.Result<(origin: String, path: String), NetworkError>
  private let origin: NetworkOrigin

  init(_ url: URL) {
    parts = Swift.Result { () throws(NetworkError) in try NetworkEndpointURL.parts(ofBase: url) }
    origin = NetworkOrigin(url)
  }

  /// Completes a URL that has no host.
  ///
  /// - Returns: Whether a request to the URL goes to the origin of this base URL.
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if one of the two is not valid.
  func complete(_ url: inout URL?) throws(NetworkError) -> Bool {
    guard let relative = url, relative.scheme == nil, relative.host?.isEmpty != false else {
      return NetworkOrigin(url) == origin
    }
    let parts = try parts.get()
    url = try NetworkEndpointURL.url(parts.origin, relative, after: parts.path)
    return true
  }
}
