import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A middleware that throws an error of the app in place of the request's does not end the retries, and the error keeps
/// what is known about the request.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct MiddlewareErrorTests {
  typealias Item = NetworkClientTests.Item

  enum ShopError: LocalizedError, Equatable {
    case closed
    case offline
    var errorDescription: String? { self == .closed ? "The shop is closed." : "You are offline." }
  }
  struct Final: RetryableError { let shouldRetry = false }

  static func mapping(to own: any Error = ShopError.closed) -> NetworkClosureMiddleware {
    .around { request, next in
      do { return try await next(request) } catch let error as NetworkError {
        throw error.urlError == nil ? own : ShopError.offline
      }
    }
  }

  static func error(
    _ script: NetworkScript, _ middleware: [any NetworkMiddleware], _ policy: RetryPolicy = RetryPolicy(maxRetries: 2)
  ) async throws -> NetworkError {
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), on: script, policy: policy, middleware: middleware)
    return try #require(await #expect(throws: NetworkError.self) { try await client.load(Item()) })
  }

  @Test func mappedErrorIsRetriedAndKeepsStatusBodyAndAttempts() async throws {
    let script = NetworkScript([.status(503, "closed", headers: ["X-Until": "9"])])
    let error = try await Self.error(script, [Self.mapping()])
    #expect(script.requests.count == 3)
    #expect(error.serviceError(as: ShopError.self) == .closed)
    #expect(error.statusCode == 503 && error.data == Data("closed".utf8))
    #expect(error.response?.value(forHTTPHeaderField: "X-Until") == "9")
    #expect(error.attempts.count == 3 && error.stopReason == .maxRetries)
    #expect(error.localizedDescription == "The shop is closed.")
  }

  @Test func attemptAfterAMappedErrorCanSucceed() async throws {
    let script = NetworkScript([.status(503, headers: ["Retry-After": "7"]), .dropped, .ok("x")])
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), on: script, middleware: [Self.mapping()])
    let response = try await client.loadResponse(Item())
    #expect(response.value == "x" && response.attempts.count == 3)
    #expect(response.attempts.first?.error?.serviceError(as: ShopError.self) == .closed)
    // The server's wait is respected.
    #expect(script.elapsed >= .seconds(7))
  }

  @Test func mappedErrorThatNoRetryCanHelpIsFinal() async throws {
    let script = NetworkScript([.status(404)])
    let error = try await Self.error(script, [Self.mapping()])
    #expect(script.requests.count == 1 && error.statusCode == 404)
    guard case .middlewareError(let own as ShopError, .endpointError) = error else { Issue.record("\(error)"); return }
    #expect(own == .closed)
  }

  @Test func retryableErrorOverridesTheStatusRule() async throws {
    let script = NetworkScript([.status(503)])
    let error = try await Self.error(script, [Self.mapping(to: Final())])
    #expect(script.requests.count == 1 && error.statusCode == 503)
  }

  @Test func mappedConnectionErrorIsRetriedAndFound() async throws {
    let script = NetworkScript([.dropped])
    let error = try await Self.error(script, [Self.mapping()])
    #expect(script.requests.count == 3 && error.urlError?.code == .networkConnectionLost)
    #expect(error.serviceError(as: ShopError.self) == .offline && error.localizedDescription == "You are offline.")
  }

  /// The rule of safe repetition is that of the request, so a POST is not repeated because its error was mapped.
  @Test func mappedErrorOfAPOSTIsNotRetried() async throws {
    let script = NetworkScript([.status(503), .ok("placed")])
    let client = NetworkClient(on: script, middleware: [Self.mapping()])
    let request = NetworkMiddlewareTests.order()
    let error = try #require(
      await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(request) })
    #expect(script.requests.count == 1 && error.stopReason == .notSafeToRepeat(method: "POST"))
  }

  @Test(arguments: [
    NetworkScript.Step.status(429), .status(403, headers: ["Retry-After": "1"]), .failure(.cannotFindHost),
  ])
  func mappedErrorOfAPOSTThatWasNotProcessedIsRetried(_ first: NetworkScript.Step) async throws {
    let script = NetworkScript([first, .ok("placed")])
    let client = NetworkClient(on: script, middleware: [Self.mapping()])
    let data = try await client.performNetworkRequest(NetworkMiddlewareTests.order())
    #expect(data == Data("placed".utf8) && script.requests.count == 2)
  }
}
