import Foundation

/// Scheme, host and port (RFC 9110 §4.3.1), with the scheme's own port where the URL has none. Of no URL, it is empty,
/// and differs from that of each URL with a host.
nonisolated struct NetworkOrigin: Hashable, Sendable {
  let scheme: String
  /// In bytes, because to `==` two normal forms of a name are equal.
  let host: [UInt8]
  let port: Int

  init(_ url: URL?) {
    scheme = url?.scheme?.lowercased() ?? ""
    host = Array((url?.host?.lowercased() ?? "").utf8)
    port = url?.port ?? (scheme == "https" ? 443 : 80)
  }
}
