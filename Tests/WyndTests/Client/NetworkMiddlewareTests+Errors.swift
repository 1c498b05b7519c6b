import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkMiddlewareTests {
  static func order() -> URLRequest {
    URLRequest(url: .example.appending(path: "order"), method: "POST", body: "order")
  }

  /// The server did not process the rejected request, so the second one may be retried.
  @Test func retriesAPOSTThatWasRejectedAndThenNotSent() async throws {
    let script = NetworkScript([.status(401), .failure(.cannotConnectToHost), .ok("placed")])
    let again: NetworkClosureMiddleware = .around { request, next in
      do { return try await next(request) } catch let error as NetworkError where error.statusCode == 401 {
        return try await next(request)
      }
    }
    let data = try await Self.client(script, again).performNetworkRequest(Self.order())
    #expect(data == Data("placed".utf8) && script.requests.count == 3)
  }

  static let doubtful: [NetworkScript.Step] = [.status(500), .status(503), .dropped, .silence, .ok("x")]
  @Test(arguments: doubtful) func doesNotRetryAPOSTThatMayHaveBeenApplied(_ first: NetworkScript.Step) async throws {
    let script = NetworkScript([first, .failure(.cannotConnectToHost), .ok("placed")])
    let again: NetworkClosureMiddleware = .around { request, next in
      _ = try? await next(request)
      return try await next(request)
    }
    let request = Self.order()
    await #expect(throws: NetworkError.self) {
      try await Self.client(script, again).performNetworkRequest(request)
    }
    #expect(script.requests.count == 2)
  }

  @TaskLocal static var trace = ""
  /// Tracing depends on it.
  @Test func taskLocalValuesReachEveryAttempt() async throws {
    let seen = Box<[String]>([])
    let tracing: NetworkClosureMiddleware = .around { request, next in
      seen.append(Self.trace)
      return try await next(request)
    }
    let client = Self.client(NetworkScript([.status(503), .dropped, .ok("x")]), tracing)
    let request = Self.order()
    _ = try await Self.$trace.withValue("7") {
      try await client.performNetworkRequest(request, policy: RetryPolicy(retriesNonIdempotent: true))
    }
    #expect(seen.value == ["7", "7", "7"])
  }

  /// The error of URLSession that a middleware throws is found by its code.
  @Test func findsTheURLErrorOfAMiddleware() async throws {
    let offline: NetworkClosureMiddleware = .around { _, _ in throw URLError(.notConnectedToInternet) }
    let client = Self.client(NetworkScript([.ok("x")]), offline)
    let error = await #expect(throws: NetworkError.self) { try await client.load(Item()) }
    #expect(error?.urlError?.code == .notConnectedToInternet)
    #expect(error?.localizedDescription == "There is no internet connection. Please try again later.")
    guard case .generalError(is URLError)? = error else { Issue.record("\(String(describing: error))"); return }
  }

  struct Busy: RetryableError { var shouldRetry: Bool }

  @Test(arguments: [true, false]) func errorOfAMiddlewareDecidesWhetherToRetry(_ shouldRetry: Bool) async throws {
    let script = NetworkScript([.ok("x")])
    let calls = Counter()
    let client = Self.client(
      script,
      .around { request, next in
        let response = try await next(request)
        if calls.add() == 1 { throw Busy(shouldRetry: shouldRetry) }
        return response
      })
    let response = try? await client.loadResponse(Item())
    #expect(script.requests.count == (shouldRetry ? 2 : 1))
    #expect(response?.attempts.count == (shouldRetry ? 2 : nil))
  }

  @Test func reportsANetworkErrorOfAMiddlewareUnwrapped() async throws {
    let client = Self.client(
      NetworkScript([.ok("x")]), .around { _, _ in throw NetworkError.invalidRequest(reason: "mine") })
    let error = await #expect(throws: NetworkError.self) { try await client.load(Item()) }
    guard case .invalidRequest("mine") = error else { Issue.record("\(String(describing: error))"); return }
  }

  /// A cancellation, and the deadline of the policy, cancel the task that the middleware of an attempt runs in.
  @Test(arguments: [false, true]) func endOfACallCancelsItsMiddleware(_ hasDeadline: Bool) async throws {
    let (began, cancelled) = (Gate(), Gate())
    let waiting: NetworkClosureMiddleware = .around { request, next in
      began.open()
      await withTaskCancellationHandler {
        await cancelled.wait()
      } onCancel: {
        cancelled.open()
      }
      return try await next(request)
    }
    let server = try LoopbackServer(script: .ok("x"))
    let client = NetworkClient(
      policy: RetryPolicy(deadline: hasDeadline ? .seconds(1) : nil), middleware: [waiting])
    let task = client.performNetworkRequest(server.url()) { _ in }
    await began.wait()
    if !hasDeadline { task.cancel() }
    await cancelled.wait()
    #expect(server.requests.isEmpty)
  }

  // MARK: After parsing

  struct Parsed: NetworkMiddleware {
    let seen: Box<[String]>
    var error: (any Error)?
    func respond(
      to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> {
      seen.append(call.endpoint.map { "\(type(of: $0)) \(call.client.baseURL?.host ?? "")" } ?? "bare")
      return try await next(request)
    }
    func parsed<Value: Sendable>(_ value: Value, from response: NetworkResponse<Data>, in call: NetworkMiddlewareCall)
      async throws
      -> Value
    {
      seen.append("\(value) \(response.statusCode) \(call.endpoint is Item)")
      if let error { throw error }
      return value
    }
  }

  @Test func middlewareSeesTheEndpointAndItsValue() async throws {
    let seen = Box<[String]>([])
    let client = Self.client(
      NetworkScript([.status(201, "x", headers: ["X-A": "1"]), .ok("bare"), .status(404)]), Parsed(seen: seen))
    let response = try await client.loadResponse(Item())
    #expect(response.value == "x" && response.data == Data("x".utf8) && response.source == .network)
    #expect(response.response.value(forHTTPHeaderField: "X-A") == "1" && response.attempts.count == 1)
    _ = try await client.performNetworkRequest(URLRequest(url: try #require(URL(string: "/x"))))
    _ = try? await client.load(Item())
    #expect(seen.value == ["Item a.example", "x 201 true", "bare", "Item a.example"])
  }

  @Test func errorThrownAfterParsingEndsTheCall() async throws {
    for (thrown, isOwn) in [(Refusal() as any Error, true), (NetworkError.noResponse, false)] {
      let script = NetworkScript([.ok("x")])
      let client = Self.client(script, Parsed(seen: Box([]), error: thrown))
      let error = await #expect(throws: NetworkError.self) { try await client.load(Item()) }
      switch error {
      case .generalError(let error): #expect(isOwn && error is Refusal)
      case .noResponse: #expect(!isOwn)
      default: Issue.record("\(String(describing: error))")
      }
      #expect(script.requests.count == 1)
    }
  }
}
