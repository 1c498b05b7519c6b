import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkErrorTests {
  // MARK: Localized descriptions

  static let advice = " Please try again later."

  static let sentences: [([Int], String)] = [
    ([401], "The server requires a valid sign-in."), ([403], "The server denied access."),
    ([404, 410], "The server could not find the requested item."),
    ([413], "The server does not accept this much data."),
    ([429, 502, 503, 504, 529], "The server is busy or not available."),
    ([408, 500, 501, 505, 520, 599], "The server could not process the request."),
    ([400, 402, 409, 418, 421, 422, 425, 451, 499], "The server rejected the request."),
  ]

  @Test func describesStatusCodesAndAdvisesToRetryTemporaryOnes() throws {
    let mayPass: Set = [408, 421, 425, 429, 499, 500, 502, 503, 504, 520, 529, 599]
    for (statuses, sentence) in Self.sentences {
      for status in statuses {
        let advised = sentence + (mayPass.contains(status) ? Self.advice : "")
        #expect(try Self.status(status).errorDescription == advised)
        #expect(try Self.status(status).localizedDescription == advised)
      }
    }
    // The server says when it will have room.
    let full = try Self.status(413, headers: ["Retry-After": "7"])
    #expect(full.errorDescription == "The server does not accept this much data." + Self.advice)
  }

  @Test func describesTransportErrorsAndAdvisesToRetryTemporaryOnes() {
    let rows: [(URLError.Code, String)] = [
      (.timedOut, "The request timed out." + Self.advice),
      (.notConnectedToInternet, "There is no internet connection." + Self.advice),
      (.serverCertificateUntrusted, "The certificate of the server is not trusted."),
    ]
    for (code, text) in rows {
      #expect(NetworkError.urlError(URLError(code)).errorDescription == text)
    }
    #expect(NetworkError.urlError(URLError(.unknown)).errorDescription == "The request failed." + Self.advice)
  }

  @Test func describesAllOtherErrors() throws {
    let response = try #require(Self.status(200).response)
    let unreadable = "The server has accepted the request, but its response is empty or cannot be read."
    let rows: [(NetworkError, String)] = [
      (.cancelled, "The request was canceled."), (.noResponse, "The request failed."),
      (.invalidResponseType(response), "The request failed."),
      (.noResponseData(response), unreadable), (.undecodable(Mute(shouldRetry: false), response, Data()), unreadable),
      (.undecodable(Chatty(), response, Data()), Chatty().errorDescription ?? ""),
      (.undecodable(TransferError.invalidResponse(reason: "no event stream"), response, Data()), unreadable),
      (.generalError(TransferError.responseTooLarge(limit: 10)), "The server sent a response that cannot be used."),
      (.generalError(TransferError.changed(reason: "x")), "The server did not send the requested file."),
      (.invalidRequest(reason: "it has no URL"), "The request is invalid, and was not sent: it has no URL."),
      (.generalError(NSError(domain: "T0KEN", code: 1)), "The request failed."),
      (.generalError(Chatty()), Chatty().errorDescription ?? ""),
      (.generalError(Mute(shouldRetry: false)), "The request failed."),
      (.generalError(Mute(shouldRetry: true)), "The request failed." + Self.advice),
      (.generalError(Mute(shouldRetry: false)), "The request failed."),
    ]
    for (error, text) in rows { #expect(error.errorDescription == text) }
  }

  struct Mute: RetryableError { var shouldRetry: Bool }
  struct Closed: LocalizedError, RetryableError {
    var errorDescription: String? { "The shop is closed." }
    var shouldRetry: Bool { true }
  }

  /// The app's own text is used as it is.
  @Test func keepsTheTextOfAnErrorOfTheApp() throws {
    #expect(NetworkError.generalError(Closed()).errorDescription == "The shop is closed.")
    #expect(Self.ended(.generalError(Closed()), .maxRetries).errorDescription == "The shop is closed.")
    let mapped = NetworkError.middlewareError(Closed(), try Self.status(503))
    #expect(mapped.errorDescription == "The shop is closed.")
    #expect(Self.ended(mapped, .maxRetries).errorDescription == "The shop is closed.")
    #expect(
      NetworkError.middlewareError(Mute(shouldRetry: true), try Self.status(503)).errorDescription
        == (try Self.status(503).errorDescription))
    let nested = NetworkError.generalError(try Self.status(503))
    #expect(nested.errorDescription == (try Self.status(503).errorDescription))
  }

  enum Fault: Error {
    case closed
    case rejected(token: String)
    indirect case caused(any Error)
  }
  enum Numbered: Int, Error { case late = 7 }
  enum Described: Error, CustomStringConvertible {
    case plain
    var description: String { "SECRET" }
  }
  enum Debugged: Error, CustomDebugStringConvertible {
    case plain
    var debugDescription: String { "SECRET" }
  }
  struct Worded: LocalizedError {
    var errorDescription: String? { "SECRET" }
  }
  struct Record: Error { var token = "SECRET" }

  /// The values of an error, and texts made by code of the app, may contain secrets.
  @Test func logsTheTypeAndTheCodeOfAnAppErrorWithoutItsValues() throws {
    let rows: [(any Error, String)] = [
      (Fault.closed, "Fault, "), (Fault.rejected(token: "SECRET"), "Fault, "),
      (Fault.caused(Fault.rejected(token: "SECRET")), "Fault, "), (Numbered.late, "Numbered, "),
      (Described.plain, "Described, "), (Debugged.plain, "Debugged, "), (Worded(), "Worded, "), (Record(), "Record, "),
    ]
    let response = try #require(Self.status(422).response)
    for (own, name) in rows {
      let errors: [(NetworkError, String)] = [
        (.generalError(own), "The request failed: \(name)"), (.undecodable(own, response, Data()), name),
      ]
      for (error, text) in errors {
        #expect("\(error)".hasPrefix(text), "\(error)")
        for line in ["\(error)", error.debugDescription] { #expect(!line.contains("SECRET"), "\(line)") }
      }
    }
    #expect("\(NetworkError.generalError(Numbered.late))".hasSuffix(" 7"))
  }

  static func ended(_ error: NetworkError, _ reason: RetryFailure.StopReason) -> NetworkError {
    let attempt = NetworkAttempt(number: 1, startedAt: .zero, duration: .zero, error: error)
    return .inaccessible(RetryFailure(lastError: error, attempts: [attempt], stopReason: reason))
  }

  /// The request may have been applied. Sending it again could apply it twice.
  @Test func doesNotAdviseToRetryAnUnsafeRequest() throws {
    let rows: [(NetworkError, String)] = [
      (try Self.status(503), "The server is busy or not available."),
      (.generalError(Closed()), "The shop is closed."),
      (.generalError(try Self.status(502)), "The server is busy or not available."),
    ]
    for (error, sentence) in rows {
      let text = Self.ended(error, .notSafeToRepeat(method: "POST")).errorDescription
      #expect(
        text == sentence + " Please check before you send it again.")
    }
  }

  @Test func shouldRetryAfterRetriesIsThatOfTheLastError() throws {
    for (status, isRetryable) in [(503, true), (404, false)] {
      #expect(Self.ended(try Self.status(status), .maxRetries).shouldRetry == isRetryable)
    }
  }

  @Test func describesARetriedCallByItsLastError() async throws {
    let call = try await RetryRuleTests.run([.status(503), .status(502)])
    #expect(call.error?.errorDescription == "The server is busy or not available." + Self.advice)
    // It may be a POST that the server received.
    let late = Self.ended(.urlError(URLError(.timedOut)), .deadline)
    #expect(late.errorDescription?.contains("try again") == false)
  }

  @Test func returnsResponseStatusAndDataOfEachError() throws {
    let response = try #require(Self.status(422).response)
    let body = Data("body".utf8)
    let rows: [(NetworkError, Data?)] = [
      (.endpointError(response, body), body), (.endpointError(response, nil), nil), (.noResponseData(response), nil),
      (.undecodable(Chatty(), response, body), body),
    ]
    for (error, data) in rows {
      #expect(error.response === response && error.statusCode == 422, "\(error)")
      #expect(error.data == data, "\(error)")
    }
  }

  // MARK: Descriptions for logs

  @Test func namesEachTransportError() {
    let rows: [([URLError.Code], String)] = [
      ([.timedOut], "The request timed out."), ([.cancelled], "The request was canceled."),
      ([.cannotFindHost, .dnsLookupFailed], "The host was not found."),
      ([.cannotConnectToHost], "The server did not accept the connection."),
      ([.networkConnectionLost], "The connection was lost."),
      (
        [.notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive],
        "There is no internet connection."
      ),
      (
        [.secureConnectionFailed, .clientCertificateRejected, .clientCertificateRequired],
        "A secure connection was not possible."
      ),
      (
        [
          .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .serverCertificateHasBadDate,
          .serverCertificateNotYetValid,
        ], "The certificate of the server is not trusted."
      ),
      (
        [
          .badServerResponse, .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData,
        ], "The server sent a response that cannot be used."
      ),
      ([.httpTooManyRedirects], "There were too many redirects."),
      ([.badURL, .unsupportedURL], "The URL is not valid."),
    ]
    for (codes, name) in rows {
      for code in codes {
        #expect("\(NetworkError.urlError(URLError(code)))" == "\(name) (URLError \(code.rawValue))")
      }
    }
    #expect("\(NetworkError.urlError(URLError(.unknown)))" == "The request failed. (URLError -1)")
  }

  @Test func describesEachErrorInOneLine() throws {
    let response = try #require(Self.status(404).response)
    let head = "404 from https://a.example/x?q=*"
    let url = try #require(response.url)
    let chatty = "\(Chatty.self), "
    let rows: [(NetworkError, String)] = [
      (.noResponse, "no HTTP response"), (.cancelled, "canceled"),
      (.invalidRequest(reason: "why"), "invalid request: why"),
      (
        .generalError(TransferError.responseTooLarge(limit: 10)),
        "The request failed: a line, or unread data, of over 10 bytes"
      ),
      (.noResponseData(response), "no body: \(head), 0 bytes"),
      (.endpointError(response, Data(count: 7)), "\(head), 7 bytes"),
      (.endpointError(response, nil), "\(head), 0 bytes"),
      (.invalidResponseType(response), "no HTTP response"),
      (
        .urlError(URLError(.timedOut, userInfo: [NSURLErrorFailingURLErrorKey: url])),
        "The request timed out. (URLError -1001, https://a.example/x?q=*)"
      ),
    ]
    for (error, line) in rows { #expect("\(error)" == line) }
    #expect("\(NetworkError.generalError(Chatty()))".hasPrefix("The request failed: \(chatty)"))
    #expect("\(NetworkError.undecodable(Chatty(), response, Data()))".hasSuffix(": \(head), 0 bytes"))
    // An error of the library inside another keeps its own text.
    let nested = NetworkError.generalError(NetworkError.noResponse)
    #expect("\(nested)" == "The request failed: no HTTP response")
  }

  static func status(_ code: Int, headers: [String: String] = [:]) throws -> NetworkError {
    let url = try #require(URL(string: "https://u:pa55@a.example/x?q=S3CRET#T0KEN"))
    return try .endpointError(.made(code, headers, url: url), nil)
  }

  /// The name of a field or of a file could forge a line of a log, and turn a terminal's colors.
  @Test func logTextsHaveNoControlCharacters() {
    let forged = "a\r\n2026-01-01 ok\u{1B}[2J"
    let file = URL(fileURLWithPath: "/films/\(forged)")
    let errors: [any Error] = [
      NetworkError.invalidRequest(reason: forged), TransferError.destinationExists(file), TransferError.inUse(file),
      TransferError.unusableFile(file, reason: forged), TransferError.invalidResponse(reason: forged),
      NetworkError.generalError(TransferError.inUse(file)),
    ]
    for error in errors {
      let text = "\(error)"
      #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control }, "\(text.debugDescription)")
      #expect(text.contains("2026"))
    }
    let long = TransferError.invalidResponse(reason: String(repeating: "x", count: 100_000))
    #expect(long.description.count < 1_100)
    #expect(NetworkError.invalidRequest(reason: String(repeating: "x", count: 100_000)).description.count < 10_100)
  }
}
