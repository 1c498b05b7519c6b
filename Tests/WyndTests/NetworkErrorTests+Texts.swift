import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkErrorTests {
  // MARK: What people read

  /// A status → what the sentence names: each kind of refusal reads differently.
  @Test func eachStatusHasItsSentence() throws {
    let rows: [(Set<Int>, String)] = [
      ([401], "The server asks you to sign in (status #)."), ([403], "The server does not allow this (status #)."),
      ([404, 410], "The server does not have this (status #)."),
      ([408, 425, 429, 503], "The server is busy (status #). Please try again later."),
      ([500, 501, 502, 504, 505, 520, 599], "The server has a problem (status #). Please try again later."),
      ([400, 402, 405, 409, 412, 413, 415, 418, 421, 422, 451, 499], "The server refused the request (status #)."),
    ]
    for (statuses, text) in rows {
      for status in statuses {
        let sentence = text.replacingOccurrences(of: "#", with: "\(status)")
        #expect(try Self.status(status).errorDescription == sentence)
        #expect(try Self.status(status).localizedDescription == sentence)
        let response = try #require(Self.status(status).response)
        #expect(NetworkError.serviceError(Chatty(), response, Data()).errorDescription == sentence)
      }
    }
  }

  #if canImport(FoundationNetworking)
    @Test func eachTransportErrorHasItsSentence() {
      let rows: [([URLError.Code], String)] = [
        ([.timedOut], "The server did not answer in time. Please try again later."),
        (
          [.cannotFindHost, .dnsLookupFailed],
          "The server was not found. Please check the address and your connection."
        ),
        ([.cannotConnectToHost], "The server could not be reached. Please try again later."),
        (
          [.notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive],
          "There is no internet connection. Please check it and try again."
        ),
        ([.networkConnectionLost], "The connection was lost. Please try again."),
        (
          [
            .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
            .serverCertificateHasBadDate, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired,
          ], "No secure connection to the server could be made (code #)."
        ),
        ([.badURL, .unsupportedURL], "The address is not valid."),
        (
          [.unknown, .cannotParseResponse, .cannotDecodeRawData, .httpTooManyRedirects],
          "The connection failed (code #). Please try again later."
        ),
      ]
      for (codes, text) in rows {
        for code in codes {
          let sentence = text.replacingOccurrences(of: "#", with: "\(code.rawValue)")
          #expect(NetworkError.urlError(URLError(code)).errorDescription == sentence, "\(code.rawValue)")
        }
      }
    }
  #endif

  @Test func everyOtherErrorHasItsSentence() throws {
    let response = try #require(Self.status(200).response)
    let unclear = "The server's answer could not be understood. Please try again later."
    let rows: [(NetworkError, String)] = [
      (.cancelled, "The request was cancelled."), (.noResponse, unclear), (.invalidResponseType(response), unclear),
      (.noResponseData(response), unclear), (.undecodable(Chatty(), response, Data()), unclear),
      (.invalidRequest(reason: "it has no URL"), "The request could not be made: it has no URL"),
      (.generalError(Chatty()), "The request failed before there was an answer. Please try again."),
      (.middlewareError(Chatty()), "The request failed before there was an answer. Please try again."),
      (.transferFailed(Chatty()), "The file could not be transferred."),
    ]
    for (error, sentence) in rows { #expect(error.errorDescription == sentence) }
  }

  @Test func aRetriedCallReadsLikeItsLastFailure() async throws {
    let call = try await RetryRuleTests.run([.status(503), .status(502)])
    #expect(call.error?.errorDescription == "The server has a problem (status 502). Please try again later.")
    let asked = try await RetryRuleTests.run([.status(503, headers: ["Retry-After": "90"])])
    #expect(
      asked.error?.errorDescription
        == "The server is busy and asks to be left alone for 90 s. Please try again after that.")
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
      ([.badServerResponse, .cannotParseResponse], "answer is not HTTP"),
      ([.cannotDecodeContentData, .cannotDecodeRawData], "content coding is broken"),
      ([.httpTooManyRedirects], "too many redirects"), ([.badURL, .unsupportedURL], "URL not supported"),
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
      (.invalidResponseType(response), "response is not HTTP: https://a.example/x?q=…"),
      (
        .urlError(URLError(.timedOut, userInfo: [NSURLErrorFailingURLErrorKey: url])),
        "timed out, URLError -1001 for https://a.example/x?q=…"
      ),
    ]
    for (error, line) in rows { #expect("\(error)" == line) }
    #expect("\(NetworkError.generalError(Chatty()))".hasPrefix("error of another kind: \(chatty)"))
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
      (.notRetryable, "another try cannot help"), (.bodyNotReplayable, "an httpBodyStream can be sent only once"),
      (.maxRetries, "all retries are used up"), (.persistentFailure, "three answers with status 500"),
      (.maxRetryTime, "the time for retries is over"), (.maxUnreachableTime, "no server could be reached"),
      (.deadline, "the deadline leaves no time"),
      (.retryAfterTooLong(.seconds(90)), "the server asked for a wait of 90 s"),
      (.cancelled, "cancelled by the caller"),
    ]
    for (reason, words) in rows { #expect("\(reason)" == words) }
    #expect("\(RetryFailure.StopReason.notSafeToRepeat(method: "PATCH"))".hasPrefix("PATCH may have been applied"))
    let safeties: [(RepeatSafety, String, Bool)] = [
      (.idempotentMethod, "the method is idempotent", true),
      (.idempotencyKey, "the request carries an Idempotency-Key", true), (.nothingSent, "nothing was sent", true),
      (.refusedBeforeProcessing, "the server refused before processing it", true),
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
