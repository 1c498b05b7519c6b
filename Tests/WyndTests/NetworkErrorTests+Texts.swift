import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkErrorTests {
  // MARK: What people read

  static let advice = " Please try again later."

  @Test func eachStatusHasItsSentence() throws {
    let rows: [(Set<Int>, String)] = [
      ([401], "The server asks you to sign in (status #)."), ([403], "The server does not allow this (status #)."),
      ([404, 410], "The server does not have this (status #)."),
      ([408, 425, 429, 503, 529], "The server is busy (status #)."),
      ([500, 501, 502, 504, 505, 520, 599], "The server has a problem (status #)."),
      ([400, 402, 405, 409, 412, 413, 415, 418, 421, 422, 451, 499], "The server refused the request (status #)."),
    ]
    let mayPass: Set = [408, 421, 425, 429, 499, 500, 502, 503, 504, 520, 529, 599]
    for (statuses, text) in rows {
      for status in statuses {
        let sentence = text.replacingOccurrences(of: "#", with: "\(status)")
        let advised = sentence + (mayPass.contains(status) ? Self.advice : "")
        #expect(try Self.status(status).errorDescription == advised)
        #expect(try Self.status(status).localizedDescription == advised)
        let response = try #require(Self.status(status).response)
        #expect(NetworkError.serviceError(Chatty(), response, Data()).errorDescription == sentence)
      }
    }
    // The server says when it will have room.
    let full = try Self.status(413, headers: ["Retry-After": "7"])
    #expect(full.errorDescription == "The server refused the request (status 413)." + Self.advice)
  }

  #if canImport(FoundationNetworking)
    @Test func eachTransportErrorHasItsSentence() {
      let rows: [([URLError.Code], String)] = [
        ([.timedOut], "The server did not respond in time."),
        ([.cannotFindHost, .dnsLookupFailed], "The server was not found."),
        ([.cannotConnectToHost], "The server could not be reached."),
        (
          [.notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive],
          "There is no internet connection."
        ),
        ([.networkConnectionLost], "The connection was lost."),
        (
          [
            .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
            .serverCertificateHasBadDate, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired,
          ], "No secure connection to the server could be made."
        ),
        ([.badURL, .unsupportedURL], "The address is not valid."),
        (
          [.unknown, .cannotParseResponse, .cannotDecodeRawData, .httpTooManyRedirects],
          "The connection failed (code #)."
        ),
      ]
      let final: Set<URLError.Code> = [
        .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .serverCertificateHasBadDate,
        .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired, .badURL, .unsupportedURL,
        .httpTooManyRedirects,
      ]
      for (codes, text) in rows {
        for code in codes {
          let sentence = text.replacingOccurrences(of: "#", with: "\(code.rawValue)")
          let advised = sentence + (final.contains(code) ? "" : Self.advice)
          #expect(NetworkError.urlError(URLError(code)).errorDescription == advised, "\(code.rawValue)")
        }
      }
    }
  #endif

  @Test func everyOtherErrorHasItsSentence() throws {
    let response = try #require(Self.status(200).response)
    let unclear = "The server sent a response that could not be read."
    let rows: [(NetworkError, String)] = [
      (.cancelled, "The request was cancelled."), (.noResponse, unclear), (.invalidResponseType(response), unclear),
      (.noResponseData(response), unclear), (.undecodable(Chatty(), response, Data()), unclear),
      (.invalidRequest(reason: "it has no URL"), "The request could not be made: it has no URL."),
      (.generalError(Chatty()), "The request failed."),
      (.middlewareError(Mute(shouldRetry: false)), "The request failed."),
      (.middlewareError(Mute(shouldRetry: true)), "The request failed." + Self.advice),
      (.transferFailed(Chatty()), "The file could not be transferred."),
      (.responseTooLarge(limit: 10), "The server's response is larger than 10 bytes."),
    ]
    for (error, sentence) in rows { #expect(error.errorDescription == sentence) }
  }

  struct Mute: RetryableError { var shouldRetry: Bool }
  struct Closed: LocalizedError, RetryableError {
    var errorDescription: String? { "The shop is closed." }
    var shouldRetry: Bool { true }
  }

  /// The app wrote its text for people, and knows better what to advise.
  @Test func theTextOfAMiddlewaresErrorIsNotChanged() throws {
    #expect(NetworkError.middlewareError(Closed()).errorDescription == "The shop is closed.")
    #expect(Self.ended(.middlewareError(Closed()), .maxRetries).errorDescription == "The shop is closed.")
    let nested = NetworkError.middlewareError(try Self.status(503))
    #expect(nested.errorDescription == (try Self.status(503).errorDescription))
  }

  static func ended(_ error: NetworkError, _ reason: RetryFailure.StopReason) -> NetworkError {
    let attempt = RetryFailure.Attempt(number: 1, startedAt: .zero, duration: .zero, error: error)
    return .inaccessible(RetryFailure(lastError: error, attempts: [attempt], stopReason: reason))
  }

  /// An order may have been placed: to send it once more could place it twice.
  @Test func afterAnUnsafeRequestPeopleAreNotToldToTryAgain() throws {
    let rows: [(NetworkError, String)] = [
      (try Self.status(503), "The server is busy (status 503)."), (.middlewareError(Closed()), "The shop is closed."),
      (.middlewareError(try Self.status(502)), "The server has a problem (status 502)."),
    ]
    for (error, sentence) in rows {
      let text = Self.ended(error, .notSafeToRepeat(method: "POST")).errorDescription
      #expect(
        text == sentence + " The server may have received the request: please check before you send it again.")
    }
  }

  @Test func aRetriedCallReadsLikeItsLastFailure() async throws {
    let call = try await RetryRuleTests.run([.status(503), .status(502)])
    #expect(call.error?.errorDescription == "The server has a problem (status 502). Please try again later.")
    let asked = try await RetryRuleTests.run([.status(503, headers: ["Retry-After": "90"])])
    #expect(
      asked.error?.errorDescription
        == "The server is busy. Please try again in 90 s.")
  }

  @Test func eachErrorWithAResponseGivesItsParts() throws {
    let response = try #require(Self.status(422).response)
    let body = Data("body".utf8)
    let rows: [(NetworkError, Data?)] = [
      (.endpointError(response, body), body), (.endpointError(response, nil), nil), (.noResponseData(response), nil),
      (.undecodable(Chatty(), response, body), body), (.serviceError(Chatty(), response, body), body),
    ]
    for (error, data) in rows {
      #expect(error.response === response && error.statusCode == 422, "\(error)")
      #expect(error.data == data, "\(error)")
    }
  }

  // MARK: What a log shows

  @Test func eachTransportErrorHasItsName() {
    let rows: [([URLError.Code], String)] = [
      ([.timedOut], "timed out"), ([.cancelled], "cancelled by the session"),
      ([.cannotFindHost, .dnsLookupFailed], "host not found"), ([.cannotConnectToHost], "connection refused"),
      ([.networkConnectionLost], "connection lost"), ([.notConnectedToInternet], "offline"),
      ([.secureConnectionFailed], "TLS failed"),
      (
        [
          .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .serverCertificateHasBadDate,
          .serverCertificateNotYetValid,
        ], "certificate not trusted"
      ),
      ([.badServerResponse, .cannotParseResponse], "not an HTTP response"),
      ([.cannotDecodeContentData, .cannotDecodeRawData], "broken content coding"),
      ([.httpTooManyRedirects], "too many redirects"), ([.badURL], "invalid URL"),
      ([.unsupportedURL], "unsupported URL"),
    ]
    for (codes, name) in rows {
      for code in codes {
        #expect("\(NetworkError.urlError(URLError(code)))" == "\(name), URLError \(code.rawValue)")
      }
    }
    #expect("\(NetworkError.urlError(URLError(.dataNotAllowed)))" == "URLError -1020")
  }

  @Test func eachErrorHasItsLine() throws {
    let response = try #require(Self.status(404).response)
    let head = "404 \(HTTPURLResponse.localizedString(forStatusCode: 404)) from https://a.example/x?q=…"
    let url = try #require(response.url)
    let chatty = "\(Chatty.self), "
    let rows: [(NetworkError, String)] = [
      (.noResponse, "neither an error nor a response"), (.cancelled, "cancelled"),
      (.invalidRequest(reason: "why"), "invalid request: why"), (.noResponseData(response), "empty body: \(head)"),
      (.endpointError(response, Data(count: 7)), "\(head), 7 bytes"),
      (.endpointError(response, nil), "\(head), 0 bytes"),
      (.invalidResponseType(response), "the response is not HTTP: https://a.example/x?q=…"),
      (
        .urlError(URLError(.timedOut, userInfo: [NSURLErrorFailingURLErrorKey: url])),
        "timed out, URLError -1001 for https://a.example/x?q=…"
      ),
    ]
    for (error, line) in rows { #expect("\(error)" == line) }
    #expect("\(NetworkError.generalError(Chatty()))".hasPrefix("unknown error: \(chatty)"))
    #expect("\(NetworkError.middlewareError(Chatty()))".hasPrefix("middleware failed: \(chatty)"))
    #expect("\(NetworkError.transferFailed(Chatty()))".hasPrefix("transfer failed: \(chatty)"))
    #expect("\(NetworkError.serviceError(Chatty(), response, Data()))".hasSuffix(": \(head)"))
    // An error of the library inside another keeps its own text.
    #expect(
      "\(NetworkError.middlewareError(NetworkError.noResponse))" == "middleware failed: neither an error nor a response"
    )
  }

  @Test func eachReasonToStopHasItsWords() {
    let rows: [(RetryFailure.StopReason, String)] = [
      (.notRetryable, "a retry cannot help"), (.bodyNotReplayable, "an httpBodyStream can be sent only once"),
      (.maxRetries, "no retries are left"),
      (.persistentFailure, "it failed three times in a way that is unlikely to get better"),
      (.maxRetryTime, "the time for retries is over"), (.maxUnreachableTime, "no server could be reached"),
      (.deadline, "the deadline leaves no time"),
      (.retryAfterTooLong(.seconds(90)), "the server asked for a wait of 90 s"),
      (.cancelled, "cancelled by the caller"),
    ]
    for (reason, words) in rows { #expect("\(reason)" == words) }
    #expect("\(RetryFailure.StopReason.notSafeToRepeat(method: "PATCH"))".hasPrefix("PATCH may have been applied"))
    let safeties: [(RepeatSafety, String, Bool)] = [
      (.idempotentMethod, "the method is idempotent", true),
      (.idempotencyKey, "the request has an Idempotency-Key", true), (.nothingSent, "nothing was sent", true),
      (.refusedBeforeProcessing, "the server refused it before processing", true),
      (.allowedByPolicy, "the policy allows it", true),
      (.mayHaveBeenApplied, "the server may have applied it", false),
    ]
    for (safety, words, isSafe) in safeties {
      #expect("\(safety)".hasPrefix(words))
      #expect(safety.isSafe == isSafe)
    }
  }

  static func status(_ code: Int, headers: [String: String] = [:]) throws -> NetworkError {
    let url = try #require(URL(string: "https://u:pa55@a.example/x?q=S3CRET#T0KEN"))
    return .endpointError(
      try #require(HTTPURLResponse(url: url, statusCode: code, httpVersion: nil, headerFields: headers)), nil)
  }
}
