import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One error type for a whole API: said once for the endpoints, and for a call without an endpoint type.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ServiceErrorTests {
  struct Problem: Decodable, LocalizedError, Equatable {
    var title: String
    var errorDescription: String? { title }
  }
  protocol ShopCall: Endpoint where ServiceError == Problem {}
  struct Order: ShopCall {
    typealias Response = String
    let path = "/order"
  }
  static let body = #"{"title":"Sold out."}"#

  static func client(_ steps: [NetworkScript.Step]) -> NetworkClient {
    NetworkClient(
      baseURL: URL(string: "https://a.example"), on: NetworkScript(steps), policy: RetryPolicy(maxRetries: 1))
  }

  @Test func protocolSetsTheServiceErrorOfItsEndpoints() async throws {
    let client = Self.client([.status(409, Self.body)])
    let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(Order()) })
    #expect(error.serviceError(as: Problem.self) == Problem(title: "Sold out.") && error.statusCode == 409)
  }

  @Test func callWithoutAnEndpointTypeHasAServiceError() async throws {
    let client = Self.client([.status(409, Self.body)])
    func check(_ work: () async throws -> Void) async throws {
      let error = try #require(await #expect(throws: NetworkError.self) { try await work() })
      #expect(error.serviceError(as: Problem.self) == Problem(title: "Sold out.") && error.statusCode == 409)
      guard case .serviceError = error else { Issue.record("\(error)"); return }
    }
    try await check { _ = try await client.load(.get("/a", as: String.self, serviceError: Problem.self)) }
    try await check { try await client.load(.get("/a", as: Void.self, serviceError: Problem.self)) }
    try await check { _ = try await client.load(.post("/a", as: String.self, serviceError: Problem.self)) }
    try await check { try await client.load(.post("/a", serviceError: Problem.self)) }
    try await check { _ = try await client.load(.put("/a", as: String.self, serviceError: Problem.self)) }
    try await check { try await client.load(.put("/a", serviceError: Problem.self)) }
    try await check { _ = try await client.load(.patch("/a", as: String.self, serviceError: Problem.self)) }
    try await check { try await client.load(.patch("/a", serviceError: Problem.self)) }
    try await check { _ = try await client.load(.delete("/a", as: String.self, serviceError: Problem.self)) }
    try await check { try await client.load(.delete("/a", serviceError: Problem.self)) }
  }

  /// A body in another format, and a call that names no type.
  @Test func keepsErrorBodiesThatAreNoServiceError() async throws {
    let html = Self.client([.status(502, "<html>"), .status(404, "<html>")])
    let error = try #require(
      await #expect(throws: NetworkError.self) { try await html.load(.post("/a", serviceError: Problem.self)) })
    #expect(error.serviceError(as: Problem.self) == nil && error.statusCode == 502)
    let client = Self.client([.status(409, Self.body)])
    let plain = try #require(await #expect(throws: NetworkError.self) { try await client.load(.post("/a")) })
    guard case .endpointError = plain else { Issue.record("\(plain)"); return }
  }

  /// Also after retries, and with the advice of its author alone.
  @Test func localizedDescriptionIsThatOfTheServiceError() async throws {
    for (status, attempts) in [(409, 0), (503, 2)] {
      let client = Self.client([.status(status, Self.body)])
      let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(Order()) })
      #expect(error.attempts.count == attempts)
      #expect(error.localizedDescription == "Sold out." && error.errorDescription == "Sold out.")
      // The log has the type, and nothing of the body.
      #expect("\(error)".contains("Problem") && !"\(error)".contains("Sold"))
    }
  }

  /// The error of the service that a middleware decodes and throws, directly or in one of the library's.
  @Test func serviceErrorOfAMiddlewareIsFound() async throws {
    for isWrapped in [false, true] {
      let decoding = NetworkMiddlewareTests.Closure { request, next in
        do { return try await next(request) } catch NetworkError.endpointError(let response, let data?) {
          let problem = try JSONDecoder().decode(Problem.self, from: data)
          throw isWrapped ? NetworkError.serviceError(problem, response, data) : problem
        }
      }
      var client = Self.client([.status(503, Self.body)])
      client.middleware = [decoding]
      let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(.post("/a")) })
      #expect(error.serviceError(as: Problem.self)?.title == "Sold out." && error.statusCode == 503)
      let retried = try #require(
        await #expect(throws: NetworkError.self) { try await client.load(.get("/a", as: String.self)) })
      #expect(retried.serviceError(as: Problem.self)?.title == "Sold out." && retried.attempts.count == 2)
    }
  }
}
