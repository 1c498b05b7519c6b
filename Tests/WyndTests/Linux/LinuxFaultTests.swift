#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking
  import Testing
  import WyndLoopbackServer

  @testable import Wynd

  /// libcurl's texts, and the code that Apple's platforms give for the same fault.
  @Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct LinuxFaultTests {
    static let texts: [(URLError.Code, String, URLError.Code?)] = [
      (.unknown, "transfer closed with 92 bytes remaining to read", .networkConnectionLost),
      (.unknown, "transfer closed with outstanding read data remaining", .networkConnectionLost),
      (.unknown, "Illegal or missing hexadecimal sequence in chunked-encoding", .cannotParseResponse),
      (.unknown, "Too long hexadecimal number in chunked-encoding", .cannotParseResponse),
      (.unknown, "Error while processing content unencoding: incorrect header check", .cannotDecodeContentData),
      (.unknown, "Unrecognized or bad HTTP Content or Transfer-Encoding", .cannotDecodeContentData),
      (.unknown, "Unrecognized content encoding type. libcurl understands deflate, gzip", .cannotDecodeContentData),
      (.unknown, "Failed writing received data to disk/application", .cannotDecodeContentData),
      (.unknown, "Failed writing header", .cannotParseResponse),
      (.unknown, "Header without colon", .cannotParseResponse),
      (.unknown, "Nul byte in header", .cannotParseResponse),
      (.unknown, "Invalid Content-Length: value", .cannotParseResponse),
      (.unknown, "Out of memory", .cannotParseResponse),
      (.unknown, "SSL certificate problem: certificate has expired", .serverCertificateHasBadDate),
      (.unknown, "SSL certificate problem: certificate is not yet valid", .serverCertificateNotYetValid),
      (.unknown, "SSL certificate problem: self-signed certificate", .serverCertificateUntrusted),
      (.unknown, "SSL certificate problem: unable to get local issuer certificate", .serverCertificateUntrusted),
      (
        .unknown, "SSL: no alternative certificate subject name matches target host name 'h'",
        .serverCertificateUntrusted
      ),
      (.unknown, "OpenSSL/3.0.15: error:0A00010B:SSL routines::wrong version number", .secureConnectionFailed),
      (.unknown, "OpenSSL SSL_connect: Connection reset by peer in connection to h:443", .secureConnectionFailed),
      (.unknown, "OpenSSL SSL_write: Broken pipe, errno 32", .networkConnectionLost),
      (.unknown, "OpenSSL SSL_read: Connection reset by peer, errno 104", .networkConnectionLost),
      (.unknown, "Send failure: Broken pipe", .networkConnectionLost),
      (.unknown, "HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)", .networkConnectionLost),
      (.unknown, "something that libcurl will say one day", nil),
      (.badServerResponse, "Empty reply from server", .networkConnectionLost),
      (.unsupportedURL, "Received HTTP/0.9 when not allowed", .cannotParseResponse),
      (.unsupportedURL, "Unsupported HTTP version (3.7) in response", .cannotParseResponse),
      (.unsupportedURL, "Unsupported response code in HTTP response", .cannotParseResponse),
      (.unsupportedURL, "unsupported URL", nil),
      (.unsupportedURL, "Recv failure: Connection reset by peer", .networkConnectionLost),
      (.cannotConnectToHost, "Send failure: Broken pipe", .networkConnectionLost),
      (.networkConnectionLost, "Recv failure: Connection reset by peer", nil),
      (.timedOut, "anything", nil),
    ]

    @Test(arguments: texts.indices) func mapsLibcurlTextsToURLErrorCodes(_ row: Int) {
      let (code, text, expected) = Self.texts[row]
      #expect(LinuxFault.code(code, text) == expected, "\(text)")
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
