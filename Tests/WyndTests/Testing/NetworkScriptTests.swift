import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A script tests an app without network and without real time.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkScriptTests {
  static func request(_ timeout: TimeInterval = 60) throws -> URLRequest {
    URLRequest(url: .example, timeoutInterval: timeout)
  }

  @Test func runsACallWithRetriesInThreeLines() async throws {
    let script = NetworkScript([.status(503), .dropped, .ok("{}")])
    let data = try await NetworkClient(on: script).performNetworkRequest(try Self.request())
    #expect(data == Data("{}".utf8) && script.requests.count == 3)
    // Half of 0.5 s, and half of 1 s.
    #expect(script.elapsed == .milliseconds(750))
  }

  /// Calls on a script share nothing, so none waits because others fail.
  @Test func failingCallsDoNotShareABudget() async throws {
    let script = NetworkScript([.status(503)])
    let request = URLRequest(url: try #require(URL(string: "https://script.example/")))
    var ends: [Duration] = []
    for _ in 0..<3 {
      _ = try? await script.performNetworkRequest(request)
      ends.append(script.elapsed)
    }
    #expect(script.requests.count == 33 && ends[1] == ends[0] * 2 && ends[2] == ends[0] * 3)
  }

  @Test func simulatesTimeoutAndDeadline() async throws {
    let script = NetworkScript([.silence, .ok("x")])
    _ = try await NetworkClient(on: script).performNetworkRequest(try Self.request(30))
    #expect(script.elapsed >= .seconds(30))
    let silent = NetworkClient(on: NetworkScript([.silence]), policy: RetryPolicy(deadline: .seconds(10)))
    let request = try Self.request()
    do throws(NetworkError) {
      _ = try await silent.performNetworkRequest(request)
      Issue.record("no error thrown")
    } catch {
      #expect(error.stopReason == .deadline)
    }
  }

  @Test func elapsedStopsAtTheEndOfACall() async throws {
    for _ in 0..<200 {
      let script = NetworkScript([.silence])
      let client = NetworkClient(on: script, policy: RetryPolicy(deadline: .seconds(10)))
      _ = try? await client.performNetworkRequest(try Self.request())
      #expect(script.elapsed == .seconds(10))
    }
  }

  // MARK: Steps and time

  static func client(_ script: NetworkScript, policy: RetryPolicy = .never) -> NetworkClient {
    NetworkClient(on: script, policy: policy)
  }
  static func texts(_ client: NetworkClient, _ count: Int) async throws -> [String] {
    var texts: [String] = []
    for _ in 0..<count {
      do { texts.append(try await client.performNetworkRequest(try request()).text) } catch {
        texts.append("\((error as? NetworkError)?.statusCode ?? 0)")
      }
    }
    return texts
  }

  @Test func givesStepsInOrderAndRepeatsTheLast() async throws {
    let script = NetworkScript([.ok("a"), .status(404), .ok("b")])
    #expect(try await Self.texts(Self.client(script), 5) == ["a", "404", "b", "b", "b"])
    #expect(script.requests.count == 5)
  }

  @Test func passesEachRequestAndItsNumber() async throws {
    let script = NetworkScript { request, number in .ok("\(number)\(request.url?.path ?? "")") }
    #expect(try await Self.texts(Self.client(script), 3) == ["0/", "1/", "2/"])
    #expect(script.requests.allSatisfy { $0.url == URL(string: "https://a.example/") })
  }

  func error(of client: NetworkClient, _ request: URLRequest) async throws -> NetworkError {
    try #require(await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(request) })
  }

  @Test func eachStepGivesItsResponseOrError() async throws {
    let ok = try await Self.client(NetworkScript([.ok("é", headers: ["X-A": "1"])])).networkResponse(
      for: Self.request())
    #expect(ok.response.statusCode == 200 && ok.data == Data("é".utf8) && ok.source == .network)
    #expect(ok.response.value(forHTTPHeaderField: "x-a") == "1")
    #expect(ok.response.url == URL(string: "https://a.example/"))
    let raw = try await Self.client(NetworkScript([.response(203, headers: ["X-A": "2"], body: Data([0, 255]))]))
      .networkResponse(for: Self.request())
    #expect(raw.response.statusCode == 203 && raw.data == Data([0, 255]))
    #expect(raw.response.value(forHTTPHeaderField: "X-A") == "2")
    let status = try await error(
      of: Self.client(NetworkScript([.status(418, "tea", headers: ["X-A": "3"])])), Self.request())
    #expect(status.statusCode == 418 && status.data == Data("tea".utf8))
    #expect(status.response?.value(forHTTPHeaderField: "X-A") == "3")
    for (step, code) in [
      (NetworkScript.Step.dropped, URLError.Code.networkConnectionLost),
      (.failure(.cannotFindHost), .cannotFindHost), (.silence, .timedOut),
    ] {
      let script = NetworkScript([step])
      #expect(try await error(of: Self.client(script), Self.request()).urlError?.code == code)
      #expect(script.elapsed == (code == .timedOut ? .seconds(60) : .zero))
    }
  }

  /// The clock of a script starts with the year 2026, and its random numbers are 0.5.
  static let waits: [(steps: [NetworkScript.Step], elapsed: Duration)] = [
    ([.status(503, headers: ["Retry-After": "Thu, 01 Jan 2026 00:00:07 GMT"]), .ok("x")], .seconds(7)),
    ([.dropped, .ok("x")], .milliseconds(25)), ([.dropped, .dropped, .ok("x")], .milliseconds(525)),
    ([.silence, .ok("x")], .milliseconds(60_025)), ([.ok("x")], .zero), ([.status(404)], .zero),
  ]
  @Test(arguments: waits) func elapsedIncludesWaitsAndTimeouts(_ steps: [NetworkScript.Step], _ elapsed: Duration)
    async throws
  {
    let script = NetworkScript(steps)
    _ = try? await Self.client(script, policy: RetryPolicy()).performNetworkRequest(try Self.request())
    // A wait that a server asked for may be spread by a second.
    #expect(
      elapsed...elapsed + (steps.count == 2 && elapsed == .seconds(7) ? .seconds(1) : .zero) ~= script.elapsed,
      "\(script.elapsed)")
  }

  @Test func doesNotRecordAnInvalidRequest() async throws {
    let script = NetworkScript([.ok("x")])
    var request = try Self.request()
    request.httpMethod = "A B"
    let error = try await error(of: Self.client(script), request)
    guard case .invalidRequest = error else { Issue.record("\(error)"); return }
    #expect(script.requests.isEmpty)
  }

  @Test func recordsRequestsAfterMiddleware() async throws {
    let marking: NetworkClosureMiddleware = .around { request, next in
      var request = request
      request.addValue("x", forHTTPHeaderField: "X-Mark")
      return try await next(request)
    }
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(on: script, middleware: [marking, marking])
    _ = try await client.performNetworkRequest(try Self.request())
    #expect(script.requests.first?.value(forHTTPHeaderField: "X-Mark") == "x,x")
  }

  @Test func respondsWithJSONAndFailsWithAnError() async throws {
    struct Pet: Codable, Equatable { var name: String }
    let error = URLError(.cannotConnectToHost, userInfo: ["reason": "moved"])
    let script = NetworkScript([try .json([Pet(name: "Bella")]), .failure(error), .failure(.timedOut)])
    let url = URL.example
    let response = try await script.loadResponse(.get(url, as: [Pet].self))
    #expect(response.value == [Pet(name: "Bella")] && response.headers["content-type"] == "application/json")
    let failed = await #expect(throws: NetworkError.self) { try await script.performNetworkRequest(url, maxRetries: 0) }
    #expect(
      failed?.urlError?.code == .cannotConnectToHost && failed?.urlError?.userInfo["reason"] as? String == "moved")
    let timedOut = await #expect(throws: NetworkError.self) {
      try await script.performNetworkRequest(url, maxRetries: 0)
    }
    #expect(timedOut?.urlError?.code == .timedOut)
  }

  @Test func respondsWithTheStatusAndTheFieldsOfAJSONStep() async throws {
    let script = NetworkScript([try .json(["code": 1], status: 409, headers: ["X-A": "1"])])
    let url = URL.example
    let error = await #expect(throws: NetworkError.self) { try await script.performNetworkRequest(url) }
    #expect(error?.statusCode == 409 && error?.data == Data(#"{"code":1}"#.utf8))
    #expect(error?.response?.value(forHTTPHeaderField: "X-A") == "1")
  }

  @Test func scriptWithoutStepsFailsEachCallAndRecordsNothing() async throws {
    let script = NetworkScript([])
    let url = URL.example
    for method in ["GET", "POST"] {
      let request = URLRequest(url: url, method: method)
      let error = await #expect(throws: NetworkError.self) { try await script.performNetworkRequest(request) }
      guard case .invalidRequest? = error else { Issue.record("\(String(describing: error))"); continue }
    }
    let error = await #expect(throws: NetworkError.self) { try await script.load(.get("/x", as: String.self)) }
    guard case .invalidRequest? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(script.requests.isEmpty && script.elapsed == .zero)
  }
}
