import Foundation

/// Scheme, host and port (RFC 9110 §4.3.1), with the scheme's own port where the URL has none. Of no URL, it is empty,
/// and differs from that of each URL with a host.
nonisolated struct NetworkOrigin: Hashable, Sendable {
  let scheme, host: String
  let port: Int

  init(_ url: URL?) {
    scheme = url?.scheme?.lowercased() ?? ""
    host = url?.host?.lowercased() ?? ""
    port = url?.port ?? (scheme == "https" ? 443 : 80)
  }
}
