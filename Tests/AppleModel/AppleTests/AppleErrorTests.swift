import Foundation
import Testing
import WyndLoopbackServer

@testable import Wynd

/// The errors of other domains that URLSession reports, and the texts of errors.
@Suite(.timeLimit(.minutes(1)), .fewAtOnce) struct AppleErrorTests {
  private static let network = "kCFErrorDomainCFNetwork"
  static let losses: [(domain: String, code: Int, expected: URLError.Code)] = [
    (NSPOSIXErrorDomain, 50, .notConnectedToInternet), (NSPOSIXErrorDomain, 51, .notConnectedToInternet),
    (NSPOSIXErrorDomain, 53, .networkConnectionLost), (NSPOSIXErrorDomain, 54, .networkConnectionLost),
    (NSPOSIXErrorDomain, 57, .networkConnectionLost), (NSPOSIXErrorDomain, 61, .cannotConnectToHost),
    (NSPOSIXErrorDomain, 64, .notConnectedToInternet), (NSPOSIXErrorDomain, 65, .notConnectedToInternet),
    (network, 306, .cannotConnectToHost), (network, 310, .cannotConnectToHost), (network, 311, .cannotConnectToHost),
  ]

  /// The numbers are those of Darwin; Linux has others for the same names.
  private static func loss(_ row: (domain: String, code: Int, expected: URLError.Code)) -> NSError {
    let names: [Int: POSIXErrorCode] = [
      50: .ENETDOWN, 51: .ENETUNREACH, 53: .ECONNABORTED, 54: .ECONNRESET, 57: .ENOTCONN, 61: .ECONNREFUSED,
      64: .EHOSTDOWN, 65: .EHOSTUNREACH,
    ]
    let code = row.domain == NSPOSIXErrorDomain ? names[row.code].map { Int($0.rawValue) } : nil
    return NSError(domain: row.domain, code: code ?? row.code)
  }

  @Test(arguments: CallKind.allCases) func retriesAfterALossOfAnotherDomain(_ kind: CallKind) async throws {
    for row in Self.losses {
      let server = try LoopbackServer(script: .close, .ok("the response"))
      let session = URLSession.ephemeral { $0.errorOfLoss = Self.loss(row) }
      // An upload is repeated if it is a PUT.
      let request = URLRequest(url: server.url(), method: kind == .upload ? "PUT" : "GET")
      let log = EventLog()
      let response = try await kind.response(to: request, on: session, policy: .quick(onEvent: log.add))
      #expect(response.statusCode == 200 && server.requests.count == 2, "\(row)")
      // That of a stream ends after its headers.
      await until { !log.delays.isEmpty }
      if kind == .request {
        #expect(response.attempts.first?.error?.urlError?.code == row.expected, "\(row)")
        #expect(response.attempts.first?.error?.isUnreachable == (row.expected != .networkConnectionLost), "\(row)")
      }
    }
  }

  /// The request was sent, whatever such an error says.
  @Test(arguments: [nil, "body"]) func doesNotRepeatAPOSTAfterALossOfAnotherDomain(_ body: String?) async throws {
    for row in Self.losses {
      let server = try LoopbackServer(script: .close, .ok("the response"))
      let session = URLSession.ephemeral { $0.errorOfLoss = Self.loss(row) }
      let request = URLRequest(url: server.url(), method: "POST", body: body)
      let error = await session.result(of: request, policy: .quick()).error
      #expect(error?.urlError?.code == row.expected && error?.stopReason == .notSafeToRepeat(method: "POST"), "\(row)")
      #expect(error?.isUnreachable == (row.expected != .networkConnectionLost), "\(row)")
      #expect(server.requests.count == 1, "\(row)")
    }
  }

  @Test func keepsTheErrorOfAnotherDomain() throws {
    for row in Self.losses {
      let original = Self.loss(row)
      let error = try #require(NetworkOutcome.urlError(original))
      #expect(error.code == row.expected)
      #expect(error.userInfo[NSUnderlyingErrorKey] as? NSError == original)
    }
  }

  // MARK: Texts

  /// The library has made the error, so no text of the system stands in it.
  @Test(arguments: CallKind.allCases) func textOfADeadlineIsASentence(_ kind: CallKind) async throws {
    let server = try LoopbackServer(script: .hang)
    let policy = RetryPolicy(deadline: .milliseconds(100))
    let error = await #expect(throws: NetworkError.self) {
      try await kind.response(to: server.url(), on: URLSession(configuration: .ephemeral), policy: policy)
    }
    #expect(error?.stopReason == .deadline)
    #expect(error?.localizedDescription == "The request timed out.")
  }

  @Test(arguments: losses.indices) func textOfALossOfAnotherDomainIsASentence(_ index: Int) async throws {
    let server = try LoopbackServer(script: .close)
    let session = URLSession.ephemeral { $0.errorOfLoss = Self.loss(Self.losses[index]) }
    let error = await session.result(of: server.url(), policy: .never).error
    let sentence = NetworkErrorMeaning.of(Self.losses[index].expected).sentence
    #expect(error?.localizedDescription == sentence + " Please try again later.")
  }

  /// The system's own text, in the user's language.
  @Test func errorOfURLSessionHasTheTextOfTheSystem() async throws {
    let closed = try LoopbackServer(isListening: false) { _ in .ok() }
    let session = URLSession(configuration: .ephemeral)
    let refused = await session.result(of: closed.url(), policy: .never).error
    #expect(refused?.localizedDescription == "Could not connect to the server. Please try again later.")
    session.goOffline()
    let offline = await session.result(of: closed.url(), policy: .never).error
    #expect(
      offline?.localizedDescription == "The Internet connection appears to be offline. Please try again later.")
  }
}
