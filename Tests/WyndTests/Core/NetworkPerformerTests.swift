import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An app can implement a performer, and wrap another one.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkPerformerTests {
  /// Does something before and after each call of another performer.
  struct Decorator: NetworkPerformer {
    let base: any NetworkPerformer
    let log = Box<[String]>([])

    func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
      var plan = plan
      plan.request.setValue("7", forHTTPHeaderField: "X-Trace")
      plan.policy = plan.policy.inheriting(from: RetryPolicy.quick(maxRetries: 1))
      log.append("begin")
      let result = await base.perform(plan)
      log.append("\((try? result.get())?.statusCode ?? 0)")
      return result
    }
  }

  /// Responds without another performer.
  struct Fixed: NetworkPerformer {
    func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
      guard let url = plan.request.url,
        let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
      else { return .failure(.noResponse) }
      return .success(NetworkResponse(data: Data("[1]".utf8), response: response))
    }
  }

  @Test func aDecoratorSeesEveryCallOfASession() async throws {
    let server = try LoopbackServer { request in
      if request.target == "/events" {
        return .ok(Array("data: a\n\n".utf8), [("Content-Type", "text/event-stream")])
      }
      return request.index == 0 ? .status(503) : .ok("[1]")
    }
    let decorator = Decorator(base: URLSession(configuration: .ephemeral))
    let folder = try Folder()
    let request = URLRequest(url: server.url())

    #expect(try await decorator.performNetworkRequest(request) == Data("[1]".utf8))
    let response = await handlerValue { decorator.networkResponse(for: request, completionHandler: $0) }
    #expect(try response.get().statusCode == 200)
    #expect(try await decorator.load(Numbers(server: server)) == [1])
    try await decorator.performNetworkDownload(request, to: folder.file())
    #expect(try Data(contentsOf: folder.file()) == Data("[1]".utf8))
    try await decorator.performNetworkUpload(request, from: .text("body"))
    #expect(try await decorator.networkBytes(for: request).lines.collected() == ["[1]"])
    for try await event in decorator.serverSentEvents(
      for: URLRequest(url: server.url("/events")), reconnects: false)
    {
      #expect(event.data == "a" && event.type == "message")
    }
    #expect(decorator.log.value == Array(repeating: ["begin", "200"], count: 7).flatMap { $0 })
    #expect(server.requests.count == 8 && server.requests.allSatisfy { $0.value("X-Trace") == "7" })
  }

  struct Numbers: LocalEndpoint {
    typealias Response = [Int]
    let server: LoopbackServer
  }

  @Test func aPerformerOfTheAppNeedsNoSession() async throws {
    let request = URLRequest(url: URL(filePath: "/"))
    #expect(try await Fixed().performNetworkRequest(request) == Data("[1]".utf8))
    let data = await handlerValue { Fixed().performNetworkRequest(request, completionHandler: $0) }
    #expect(try data.get() == Data("[1]".utf8))
  }

  /// Does something before it passes the call on, while the app invalidates its session.
  struct Waiting: NetworkPerformer {
    let session: URLSession
    func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
      await Task.yield()
      session.finishTasksAndInvalidate()
      return await session.perform(plan)
    }
  }

  /// On Apple's platforms, creating a task on the session would raise an exception.
  @Test(arguments: CallKind.allCases)
  func aPerformerMayWaitWhileTheSessionEnds(_ kind: CallKind) async throws {
    let server = try LoopbackServer(script: .ok("the response"))
    let performer = Waiting(session: URLSession(configuration: .ephemeral))
    let request = URLRequest(url: server.url(), method: kind == .upload ? "POST" : "GET")
    #expect(try await kind.response(to: request, on: performer).data == Data("the response".utf8))
  }

  /// The decorator sends the request after the public call has returned, and the app may have invalidated its session by
  /// then: the request must not be sent on that session, which would raise an exception on Apple's platforms.
  @Test func aDecoratedCallSurvivesTheEndOfItsSession() async throws {
    let server = try LoopbackServer(script: .ok("a"))
    let session = URLSession(configuration: .ephemeral)
    let decorator = Decorator(base: session)
    let result = await handlerValue { end in
      decorator.performNetworkRequest(server.url(), completionHandler: end)
      session.finishTasksAndInvalidate()
    }
    #if canImport(FoundationNetworking)
      // The session is known to be invalid, or the call has started before.
      #expect(result.error == nil || result.error?.urlError?.code == .cancelled)
    #else
      #expect(try result.get() == Data("a".utf8))
    #endif
  }

  /// Makes an idempotency key once per call, around a client.
  private struct KeyPerCall: NetworkPerformer {
    let base: NetworkClient
    var defaults: NetworkDefaults { base.defaults }
    func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
      var plan = plan
      plan.request.idempotencyKey = UUID()
      return await base.perform(plan)
    }
  }

  @Test func aPerformerAroundAClientRunsOncePerCall() async throws {
    let script = NetworkScript([.status(503), .dropped, .ok("1"), .ok("2")])
    let decoder = JSONDecoder()
    let client = NetworkClient(baseURL: URL(string: "https://a.example/v2"), on: script, decoder: decoder)
    let network = KeyPerCall(base: client)
    #expect(try await network.load(.post("/orders", as: Int.self)) == 1)
    #expect(try await network.load(.post("/orders", as: Int.self)) == 2)
    let keys = script.requests.map(\.idempotencyKey)
    #expect(keys.count == 4 && Set(keys[..<3]).count == 1 && keys[0] != nil && keys[3] != keys[0])
    #expect(script.requests.allSatisfy { $0.url?.path == "/v2/orders" })
  }
}
