#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// URLSession on Linux reports many failures as -1 with libcurl's text. This gives them the codes that they have on
  /// Apple's platforms, with URLSession's own error as the underlying one.
  nonisolated enum LinuxFault {
    static func normalized(_ error: any Error) -> any Error {
      guard let original = error as? URLError,
        let code = code(original.code, (original.userInfo[NSLocalizedDescriptionKey] as? String) ?? "")
      else { return error }
      return URLError(code, causedBy: original, original.userInfo)
    }

    /// Nil if the code is right, or if the text is not known.
    static func code(_ code: URLError.Code, _ text: String) -> URLError.Code? {
      let fault = faults.first { fault in
        let isOfCode = fault.from == nil || fault.from == code
        return isOfCode && fault.texts.contains { text.contains($0) }
      }
      if let fault { return fault.code == code ? nil : fault.code }
      let isTLS = code == .unknown && ["SSL", "OpenSSL", "TLS"].contains { text.hasPrefix($0) }
      return isTLS ? .secureConnectionFailed : nil
    }

    /// The first row that matches applies. `from` is URLSession's code; nil matches any.
    private static let faults: [(from: URLError.Code?, texts: [String], code: URLError.Code)] = [
      // This text occurs with other codes, too, such as "unsupported URL", and never proves that nothing was sent.
      (nil, ["Recv failure", "Send failure"], .networkConnectionLost),
      (.badServerResponse, ["Empty reply"], .networkConnectionLost),
      (.unsupportedURL, ["HTTP/0.9", "HTTP version", "response code"], .cannotParseResponse),
      (
        .unknown,
        ["content unencoding", "content encoding", "Content or Transfer-Encoding", "Failed writing received data"],
        .cannotDecodeContentData
      ),
      (.unknown, ["chunked-encoding", "Failed writing header", "Header without colon"], .cannotParseResponse),
      // "Out of memory" is libcurl's text for a header field that is too long (300 KB).
      (.unknown, ["Nul byte", "Invalid Content-Length", "Out of memory", "Too large response"], .cannotParseResponse),
      (.unknown, ["SSL certificate problem: certificate has expired"], .serverCertificateHasBadDate),
      (.unknown, ["SSL certificate problem: certificate is not yet valid"], .serverCertificateNotYetValid),
      (.unknown, ["SSL certificate problem", "certificate subject name"], .serverCertificateUntrusted),
      (.unknown, ["peer certificate", "certificate verif"], .serverCertificateUntrusted),
      // The proxy refused, so no server received anything.
      (.unknown, ["CONNECT tunnel failed", "proxy after CONNECT"], .cannotConnectToHost),
      // After the handshake, the server may have read a request. Only a failed handshake proves that it has not.
      (.unknown, ["transfer closed with", "SSL_read", "SSL_write"], .networkConnectionLost),
      (.unknown, ["HTTP/2 stream", "HTTP2 framing layer"], .networkConnectionLost),
    ]
  }
#endif
