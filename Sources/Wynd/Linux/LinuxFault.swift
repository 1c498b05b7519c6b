#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// URLSession on Linux reports many faults as -1 with libcurl's text. The same fault gets the code it has on Apple's
  /// platforms, with URLSession's own error as the underlying one.
  nonisolated enum LinuxFault {
    static func normalised(_ error: any Error) -> any Error {
      guard let original = error as? URLError,
        let code = code(original.code, (original.userInfo[NSLocalizedDescriptionKey] as? String) ?? "")
      else { return error }
      var userInfo = original.userInfo
      userInfo[NSUnderlyingErrorKey] = original
      return URLError(code, userInfo: userInfo)
    }

    /// nil: it is right as it is, or nothing is known about it.
    static func code(_ code: URLError.Code, _ text: String) -> URLError.Code? {
      switch code {
      case .badServerResponse where text.hasPrefix("Empty reply"): return .networkConnectionLost
      case .unsupportedURL where has(text, "HTTP/0.9", "HTTP version", "response code"): return .cannotParseResponse
      case .unknown: break
      default: return nil
      }
      if has(
        text, "content unencoding", "content encoding", "Content or Transfer-Encoding", "Failed writing received data")
      {
        return .cannotDecodeContentData
      }
      if has(text, "chunked-encoding", "Failed writing header", "Header without colon", "Nul byte in header") {
        return .cannotParseResponse
      }
      if has(text, "Invalid Content-Length", "Out of memory", "Too large response headers") {
        return .cannotParseResponse
      }
      if text.hasPrefix("SSL certificate problem: certificate has expired") { return .serverCertificateHasBadDate }
      if text.hasPrefix("SSL certificate problem: certificate is not yet valid") {
        return .serverCertificateNotYetValid
      }
      if has(text, "SSL certificate problem", "certificate subject name", "peer certificate", "certificate verif") {
        return .serverCertificateUntrusted
      }
      // What breaks after the handshake may follow a request that was read: only a failed handshake proves that none was.
      if has(text, "transfer closed with", "SSL_read", "SSL_write", "Send failure", "Recv failure", "HTTP/2 stream") {
        return .networkConnectionLost
      }
      if text.hasPrefix("SSL") || text.hasPrefix("OpenSSL") || text.hasPrefix("TLS") { return .secureConnectionFailed }
      return nil
    }

    private static func has(_ text: String, _ parts: String...) -> Bool { parts.contains { text.contains($0) } }
  }
#endif
