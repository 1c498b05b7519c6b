import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The error of a call that was retried has every attempt, also if it is not wrapped.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct AttachedAttemptsTests {
  static let policy = RetryPolicy(backoff: .immediate, budget: .unlimited)

  func error(_ steps: [NetworkScript.Step], _ call: (NetworkScript) async throws -> Void) async -> NetworkError? {
    await #expect(throws: NetworkError.self) { try await call(NetworkScript(steps)) }
  }

  @Test func a404AfterTwo503HasItsAttempts() async throws {
    let server = try LoopbackServer { request in
      request.index < 2 ? .status(503) : .status(404, [("X-Page", "7"), ("Content-Type", "text/plain")], body: "gone")
    }
    let result = await URLSession.shared.result(of: URLRequest(url: server.url("/item")), policy: Self.policy)
    let error = try #require(result.error)
    guard case .endpointError(let response, let data) = error else { Issue.record("\(error)"); return }
    #expect(response.statusCode == 404 && data == Data("gone".utf8) && response.url == server.url("/item"))
    #expect(response.value(forHTTPHeaderField: "x-page") == "7" && response.mimeType == "text/plain")
    #expect(error.attempts.map { $0.error?.statusCode } == [503, 503, 404])
    #expect(
      error.attempts.map(\.number) == [1, 2, 3] && error.attempts.map { $0.delay != nil } == [true, true, false])
    #expect(error.debugDescription.contains("#3") && error.stopReason == nil)
  }

  @Test func aDirectURLErrorHasItsAttempts() async {
    let error = await error([.status(503), .failure(.serverCertificateUntrusted)]) { script in
      _ = try await script.networkResponse(for: Self.request, policy: Self.policy)
    }
    guard case .urlError(let urlError)? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(urlError.code == .serverCertificateUntrusted)
    #expect(error?.attempts.map { $0.error?.statusCode } == [503, nil])
    #expect(!"\(urlError)".contains("503"))
  }

  @Test func aResponseThatCannotBeUsedHasItsAttempts() async throws {
    struct Failure: Error, Decodable { var code: String }
    struct Item: Endpoint {
      typealias Response = [Int]
      typealias ServiceError = Failure
      var host: String { "a.example" }
      var path: String { "/" }
      var policy: RetryPolicy? { AttachedAttemptsTests.policy }
    }
    let undecodable = await error([.dropped, .ok("{}")]) { _ = try await $0.load(Item()) }
    guard case .undecodable? = undecodable else { Issue.record("\(String(describing: undecodable))"); return }
    #expect(undecodable?.attempts.count == 2 && undecodable?.attempts.last?.error == nil)
    let service = await error([.dropped, .status(422, #"{"code":"a"}"#)]) { _ = try await $0.load(Item()) }
    #expect(service?.serviceError(as: Failure.self)?.code == "a" && service?.attempts.count == 2)
    let empty = await error([.dropped, .ok("")]) {
      _ = try await $0.performNetworkRequest(Self.request, policy: Self.policy)
    }
    guard case .noResponseData? = empty else { Issue.record("\(String(describing: empty))"); return }
    #expect(empty?.attempts.count == 2)
  }

  @Test func aServiceErrorInASuccessfulResponseHasItsAttempts() async {
    struct Failure: Error, Decodable {}
    struct Item: Endpoint {
      typealias Response = String
      typealias ServiceError = Failure
      var host: String { "a.example" }
      var path: String { "/" }
      var policy: RetryPolicy? { AttachedAttemptsTests.policy }
      func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> String { throw Failure() }
    }
    let error = await error([.dropped, .ok("failed")]) { _ = try await $0.load(Item()) }
    guard case .serviceError? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(error?.attempts.count == 2 && error?.attempts.last?.error == nil)
  }

  /// A middleware renews a credential, and throws the error of that call, which was retried.
  struct Renewal: NetworkMiddleware {
    let renewal: NetworkScript
    let wraps: Bool
    func respond(
      to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> {
      do {
        return try await renewal.networkResponse(for: request, policy: AttachedAttemptsTests.policy)
      } catch {
        throw wraps ? NetworkError.middlewareError(error) : NetworkError.transferFailed(error)
      }
    }
  }

  @Test(arguments: [true, false]) func theAttemptsOfAnotherCallAreNotThoseOfThisOne(_ wraps: Bool) async {
    let renewal = NetworkScript([.status(503), .status(503), .status(401)])
    let error = await error([.ok("x")]) { script in
      let client = NetworkClient(on: script, middleware: [Renewal(renewal: renewal, wraps: wraps)])
      _ = try await client.performNetworkRequest(Self.request)
    }
    #expect(error != nil && error?.statusCode == nil && error?.attempts.isEmpty == true)
    #expect(renewal.requests.count == 3)
  }

  @Test func theOnlyAttemptOfADirectErrorIsNotAttached() async {
    let error = await error([.status(404)]) { _ = try await $0.performNetworkRequest(Self.request) }
    #expect(error?.statusCode == 404 && error?.attempts.isEmpty == true)
  }

  static var request: URLRequest {
    var components = URLComponents()
    components.scheme = "https"
    components.host = "a.example"
    return URLRequest(url: components.url ?? URL(filePath: "/"))
  }
}
