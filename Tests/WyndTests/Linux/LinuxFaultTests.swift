#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking
  import Testing
  import WyndLoopbackServer

  @testable import Wynd

  /// libcurl's texts, and the code that Apple's platforms give for the same fault.
  @Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct LinuxFaultTests {
    static let texts: [(URLError.Code, String, URLError.Code?)] = [
      (.unknown, "transfer closed with 92 bytes remaining to read", .networkConnectionLost),
      (.unknown, "Illegal or missing hexadecimal sequence in chunked-encoding", .cannotParseResponse),
      (.unknown, "Error while processing content unencoding: incorrect header check", .cannotDecodeContentData),
      (.unknown, "Unrecognized content encoding type. libcurl understands deflate, gzip", .cannotDecodeContentData),
      (.unknown, "Failed writing received data to disk/application", .cannotDecodeContentData),
      (.unknown, "Header without colon", .cannotParseResponse),
      (.unknown, "Invalid Content-Length: value", .cannotParseResponse),
      (.unknown, "Out of memory", .cannotParseResponse),
      (.unknown, "SSL certificate problem: certificate has expired", .serverCertificateHasBadDate),
      (.unknown, "SSL certificate problem: certificate is not yet valid", .serverCertificateNotYetValid),
      (.unknown, "SSL certificate problem: self-signed certificate", .serverCertificateUntrusted),
      (
        .unknown, "SSL: no alternative certificate subject name matches target host name 'h'",
        .serverCertificateUntrusted
      ),
      (.unknown, "OpenSSL/3.0.15: error:0A00010B:SSL routines::wrong version number", .secureConnectionFailed),
      (.unknown, "OpenSSL SSL_write: Broken pipe, errno 32", .networkConnectionLost),
      (.unknown, "OpenSSL SSL_read: Connection reset by peer, errno 104", .networkConnectionLost),
      (.unknown, "Send failure: Broken pipe", .networkConnectionLost),
      (.unknown, "HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)", .networkConnectionLost),
      (.unknown, "something that libcurl will say one day", .networkConnectionLost),
      (.unknown, "Failed to connect to 192.0.2.1 port 80 after 0 ms: Couldn't connect to server", .cannotConnectToHost),
      (.unknown, "Could not resolve proxy: p", .cannotConnectToHost),
      (.unknown, "Proxy CONNECT aborted", .cannotConnectToHost),
      (.unknown, "User was rejected by the SOCKS5 server (5 1).", .cannotConnectToHost),
      (.unknown, "error setting certificate file: /etc/ssl/certs/ca-certificates.crt", .serverCertificateUntrusted),
      (.unknown, "server certificate expiration date has passed.", .serverCertificateHasBadDate),
      (.unknown, "gnutls_handshake() failed: Handshake failed", .secureConnectionFailed),
      (
        .unknown, "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
        .clientCertificateRequired
      ),
      (.unknown, "GnuTLS recv error (-54): Error in the pull function.", .networkConnectionLost),
      (.unknown, "Connection died, tried 5 times before giving up", .networkConnectionLost),
      (.unknown, "Failed receiving HTTP2 data", .networkConnectionLost),
      (.unknown, "necessary data rewind wasn't possible", .networkConnectionLost),
      (.badServerResponse, "Server returned nothing (no headers, no data)", .networkConnectionLost),
      // One address of the host refused, and the next one accepted.
      (.cannotConnectToHost, "Empty reply from server", .networkConnectionLost),
      (.cannotConnectToHost, "something that libcurl will say one day", .networkConnectionLost),
      (.cannotConnectToHost, "", nil),
      (.cannotFindHost, "Could not resolve host: SSL.example", nil),
      (.cannotFindHost, "Send failure: Broken pipe", .networkConnectionLost),
      (.networkConnectionLost, "rustls: TLS error", nil),
      (.unsupportedURL, "Received HTTP/0.9 when not allowed", .cannotParseResponse),
      (.unsupportedURL, "unsupported URL", nil),
      (.cannotConnectToHost, "Send failure: Broken pipe", .networkConnectionLost),
      (.timedOut, "anything", nil),
    ]

    @Test(arguments: texts) func mapsLibcurlTextsToURLErrorCodes(
      _ code: URLError.Code, _ text: String, _ expected: URLError.Code?
    ) {
      #expect(LinuxFault.code(code, text) == expected, "\(text)")
    }

    /// The kernel refuses to connect, as in a process without a network: nothing was sent.
    @Test func missingRouteProvesThatNothingWasSent() async throws {
      let request = URLRequest(url: try #require(URL(string: "http://255.255.255.255:9/")), method: "POST")
      let policy = RetryPolicy(maxRetries: 1, backoff: .immediate)
      let result = await URLSession(configuration: .ephemeral).result(of: request, policy: policy)
      #expect(result.error?.urlError?.code == .cannotConnectToHost)
      #expect(result.error?.stopReason == .maxRetries)
      #expect(result.error?.attempts.map(\.delivery) == [.notSent, .notSent])
    }

    /// A reload of an HTTP/2 server, and a proxy that refuses.
    @Test func mapsHTTP2AndProxyTextsToURLErrorCodes() {
      #expect(LinuxFault.code(.unknown, "Error in the HTTP2 framing layer") == .networkConnectionLost)
      for text in ["CONNECT tunnel failed, response 403", "Received HTTP code 403 from proxy after CONNECT"] {
        #expect(LinuxFault.code(.unknown, text) == .cannotConnectToHost, "\(text)")
      }
    }
  }
#endif
