#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// URLSession on Linux reports many failures as -1 with libcurl's text. This gives them the codes that they have on
  /// Apple's platforms, with URLSession's own error as the underlying one.
  nonisolated enum LinuxFault {
    static func normalized(_ error: any Swift.Error) -> any Swift.Error {
      guard let original = error as? URLError,
        let code = code(original.code, (original.userInfo[NSLocalizedDescriptionKey] as? String) ?? "")
      else { return error }
      return URLError(code, causedBy: original, original.userInfo)
    }

    /// Nil if the code is right.
    static func code(_ code: URLError.Code, _ text: String) -> URLError.Code? {
      // These are right whatever the text says. It may belong to an earlier connection.
      if [.timedOut, .networkConnectionLost].contains(code) || text.isEmpty { return nil }
      if let fault = faults.first(where: { $0.texts.contains(where: text.contains) }) {
        return fault.code == code ? nil : fault.code
      }
      // With another text, libcurl has failed during a transfer. URLSession reports `.cannotConnectToHost` even if one
      // address of the host refused, and the failure concerns another one, so that proves nothing.
      return [.unknown, .badServerResponse, .cannotConnectToHost].contains(code) ? .networkConnectionLost : nil
    }

    /// Texts of libcurl 7.88, and some of later versions. The first row that matches applies.
    private static let faults: [(texts: [String], code: URLError.Code)] = [
      // libcurl keeps the text of a connection that it replaced by another one, so this text never proves that nothing
      // was sent.
      (["Recv failure", "Send failure"], .networkConnectionLost),
      (["Could not resolve host"], .cannotFindHost),
      // No address was reached. Without a route or a socket, the text is the same.
      (["Couldn't connect to server"], .cannotConnectToHost),
      // There is no connection through the proxy, so no server received anything.
      (["CONNECT tunnel", "after CONNECT", "Proxy CONNECT", "CONNECT to proxy", "CONNECT resp"], .cannotConnectToHost),
      (["SOCKS", "to proxy closed", "resolve proxy", "Unsupported proxy", "proxy handshake"], .cannotConnectToHost),
      (["Unsupported HTTP version", "Unsupported response code", "HTTP/0.9"], .cannotParseResponse),
      (["chunked-encod", "Failed writing header", "Header without colon"], .cannotParseResponse),
      // "Out of memory" is libcurl's text for a header field that is too long (300 KB).
      (["Nul byte", "Invalid Content-Length", "Out of memory", "Too large response"], .cannotParseResponse),
      (
        ["content unencoding", "content encoding", "Content or Transfer-Encoding", "Failed writing received data"],
        .cannotDecodeContentData
      ),
      (["certificate has expired", "certificate expiration date has passed"], .serverCertificateHasBadDate),
      (["certificate is not yet valid", "certificate not activated"], .serverCertificateNotYetValid),
      (["alert certificate required", "Client Certificate required"], .clientCertificateRequired),
      // The last two: the system has no certificates to trust, such as a container without ca-certificates.
      (
        [
          "SSL certificate problem", "certificate subject name", "peer certificate", "certificate verif",
          "setting certificate", "SSL CA cert",
        ], .serverCertificateUntrusted
      ),
      // After the handshake, the server may have read a request.
      (["SSL_read", "SSL_write", "SSL read", "SSL write", "TLS recv"], .networkConnectionLost),
      // Only a failed handshake proves that the server has read nothing.
      (["SSL", "TLS", "gnutls_handshake"], .secureConnectionFailed),
    ]
  }
#endif
