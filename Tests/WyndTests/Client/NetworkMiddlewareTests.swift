import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Middleware around each attempt: order, errors, cancellation and parsed values.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkMiddlewareTests {
  typealias Item = NetworkClientTests.Item

  static func client(
    _ script: NetworkScript, _ middleware: any NetworkMiddleware..., policy: RetryPolicy = RetryPolicy()
  ) -> NetworkClient {
    NetworkClientTests.client(script, policy: policy, middleware: middleware)
  }

  struct Tracing: NetworkMiddleware {
    let name: String
    let trace: Box<[String]>
    func respond(
      to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> {
      trace.append("\(name)>")
      defer { trace.append("<\(name)") }
      var request = request
      request.setValue((request.value(forHTTPHeaderField: "X-Way") ?? "") + name, forHTTPHeaderField: "X-Way")
      return try await next(request)
    }
    func parsed<Value: Sendable>(_ value: Value, from response: NetworkResponse<Data>, in call: NetworkMiddlewareCall)
      async throws
      -> Value
    {
      trace.append("\(name)=\(value)\(call.endpoint is Item ? "!" : "")")
      return (value as? String).flatMap { $0 + name as? Value } ?? value
    }
  }

  @Test func runsMiddlewareInTheOrderOfTheList() async throws {
    let trace = Box<[String]>([])
    let server = try LoopbackServer { $0.index == 0 ? .status(503) : .ok($0.value("X-Way") ?? "") }
    let client = NetworkClient(
      baseURL: server.url(), policy: .quick(),
      middleware: [
        Tracing(name: "a", trace: trace), Tracing(name: "b", trace: trace),
      ])
    #expect(try await client.load(Item()) == "abba")
    #expect(trace.value?.joined(separator: " ") == "a> b> <b <a a> b> <b <a b=ab! a=abb!")
  }

  struct Refusal: Error, Equatable {}

  @Test func reportsTheErrorOfAMiddleware() async throws {
    let script = NetworkScript([.ok("x")])
    let client = Self.client(script, .around { _, _ in throw Refusal() })
    do throws(NetworkError) {
      _ = try await client.load(Item())
      Issue.record("not thrown")
    } catch {
      guard case .generalError(let error) = error else { Issue.record("\(error)"); return }
      #expect(error as? Refusal == Refusal())
    }
    #expect(script.requests.isEmpty)
  }

  @Test func middlewareCanRespondWithoutSending() async throws {
    let script = NetworkScript([])
    let client = Self.client(
      script,
      .around { request, _ in
        let url = try #require(request.url)
        let head = try HTTPURLResponse.made(200, url: url)
        return NetworkResponse(data: Data("mine".utf8), response: head)
      })
    #expect(try await client.load(Item()) == "mine")
    #expect(script.requests.isEmpty)
  }

  @Test func middlewareCanTurnAnErrorIntoAResponse() async throws {
    let script = NetworkScript([.status(404, "gone")])
    let client = Self.client(
      script,
      .around { request, next in
        do {
          return try await next(request)
        } catch NetworkError.endpointError(let response, let data) where response.statusCode == 404 {
          return NetworkResponse(data: data ?? Data(), response: response)
        }
      })
    #expect(try await client.load(Item()) == "gone")
  }

  @Test func middlewareCanSendTwice() async throws {
    let script = NetworkScript([.status(401), .ok("second")])
    let client = Self.client(
      script,
      .around { request, next in do { return try await next(request) } catch { return try await next(request) } })
    let response = try await client.loadResponse(Item())
    #expect(response.value == "second")
    #expect(response.attempts.count == 1)
  }

  // MARK: Cancellation and deadline

  /// The POST of an attempt was accepted before the middleware's GET was rejected, so the POST must not be repeated.
  @Test(arguments: [429, 421, 425]) func doesNotRepeatAPOSTWhenALaterRequestOfTheMiddlewareIsRejected(_ status: Int)
    async throws
  {
    let script = NetworkScript([.status(202, "x"), .status(status), .status(202, "x"), .ok("done")])
    let poll = URLRequest(url: .example.appending(path: "status"))
    let client = NetworkClient(
      on: script,
      middleware: [
        .around { request, next in
          _ = try await next(request)
          return try await next(poll)
        }
      ])
    let order = URLRequest(url: .example.appending(path: "order"), method: "POST")
    await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(order) }
    #expect(script.requests.map(\.httpMethod) == ["POST", "GET"])
    // Without the accepted POST, that rejection is retried.
    let refused = NetworkScript([.status(status), .ok("done")])
    let plain = NetworkClient(on: refused, middleware: [.around { try await $1($0) }])
    _ = try? await plain.performNetworkRequest(order)
    #expect(refused.requests.count == 2)
  }

  /// What a middleware sets is validated too, or it would end the process on Linux.
  @Test func refusesAnInvalidRequestOfAMiddleware() async throws {
    let server = try LoopbackServer(script: .ok("x"))
    let client = NetworkClient(
      middleware: [
        .around { request, next in
          var request = request
          request.httpMethod = "GE T"
          return try await next(request)
        }
      ])
    let error = await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(server.url()) }
    guard case .invalidRequest? = error else { Issue.record("\(error as Any)"); return }
    #expect(server.requests.isEmpty)
  }
}
