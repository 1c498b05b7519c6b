import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An error that a middleware replaces is still that of the response.
extension MiddlewareErrorTests {
  private struct Problem: Error, Decodable, Equatable { let code: Int }
  private static let origin = URL(string: "https://a.example")

  @Test(arguments: [422, 503]) func serviceErrorIsFoundInsideAMappedError(_ status: Int) async throws {
    let client = NetworkClient(
      baseURL: Self.origin, on: NetworkScript([.status(status, #"{"code":7}"#)]), policy: RetryPolicy(maxRetries: 1),
      middleware: [Self.mapping()])
    let endpoint = AdHocEndpoint<String>.get("/", as: String.self)
    let error = await #expect(throws: NetworkError.self) { try await client.load(endpoint) }
    #expect(error?.serviceError(as: Problem.self) == Problem(code: 7))
    #expect(error?.serviceError(as: ShopError.self) == .closed && error?.statusCode == status)
  }

  @Test func rejectedCredentialIsRenewedThoughAMiddlewareMapsThe401() async throws {
    let script = NetworkScript([.status(401), .ok("x")])
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, _ in
      BearerToken("new")
    }
    let client = NetworkClient(baseURL: Self.origin, on: script, middleware: [authentication, Self.mapping()])
    #expect(try await client.load(Item()) == "x")
    #expect(script.requests.last?.value(forHTTPHeaderField: "Authorization") == "Bearer new")
  }

  /// The error of the app could not be served again.
  @Test func mappedErrorIsNotStored() async throws {
    let script = NetworkScript([.status(404, headers: ["Cache-Control": "max-age=60"])])
    let client = NetworkClient(
      baseURL: Self.origin, on: ResponseCache(on: script), middleware: [Self.mapping()])
    for count in 1...2 {
      let error = await #expect(throws: NetworkError.self) { try await client.load(Item()) }
      #expect(error?.serviceError(as: ShopError.self) == .closed && script.requests.count == count)
    }
  }

  @Test func urlErrorInPlaceOfAResponseKeepsTheResponse() async throws {
    let script = NetworkScript([.status(422, "no")])
    let error = try await Self.error(script, [Self.mapping(to: URLError(.notConnectedToInternet))])
    #expect(error.statusCode == 422 && error.data == Data("no".utf8) && script.requests.count == 1)
    #expect(error.urlError?.code == .notConnectedToInternet)
    #expect(error.localizedDescription == "There is no internet connection.")
    guard case .middlewareError(is URLError, .endpointError) = error else { Issue.record("\(error)"); return }
  }

  /// A POST that the server may have applied is not repeated because a middleware says that there was no connection.
  @Test func urlErrorInPlaceOfAResponseDoesNotAllowRepeatingAPOST() async throws {
    let script = NetworkScript([.status(503), .ok("placed")])
    let mapping = Self.mapping(to: URLError(.cannotConnectToHost))
    let client = NetworkClient(baseURL: Self.origin, on: script, middleware: [mapping])
    let error = await #expect(throws: NetworkError.self) { try await client.load(.post("/orders")) }
    #expect(script.requests.count == 1 && error?.stopReason == .notSafeToRepeat(method: "POST"))
  }
}
