import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The base URL of a client, taken apart once, when it is set: Foundation takes microseconds for each part of a URL.
nonisolated final class NetworkBaseURL: Sendable {
  private let parts: Swift.Result<(origin: String, path: String), NetworkError>
  private let origin: NetworkOrigin

  init(_ url: URL) {
    parts = Swift.Result { () throws(NetworkError) in try NetworkEndpointURL.parts(ofBase: url) }
    origin = NetworkOrigin(url)
  }

  /// Completes the URL of a request, if it has no host.
  ///
  /// - Returns: Whether the request goes to the origin of this base URL.
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if one of the two URLs is not valid.
  func complete(_ request: inout URLRequest) throws(NetworkError) -> Bool {
    guard let url = request.url, url.scheme == nil, url.host?.isEmpty != false else {
      return NetworkOrigin(request.url) == origin
    }
    let parts = try parts.get()
    request.url = try NetworkEndpointURL.url(parts.origin, url, after: parts.path)
    return true
  }
}
