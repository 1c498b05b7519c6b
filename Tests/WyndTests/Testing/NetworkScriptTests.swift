import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A test of an app in three lines: no network, and no time passes.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct NetworkScriptTests {
  static func request(_ timeout: TimeInterval = 60) throws -> URLRequest {
    URLRequest(url: try #require(URL(string: "https://a.example/")), timeoutInterval: timeout)
  }

  @Test func threeLines() async throws {
    let script = NetworkScript.scripted([.status(503), .dropped, .ok("{}")])
    let data = try await NetworkClient(script: script).performNetworkRequest(try Self.request())
    #expect(data == Data("{}".utf8) && script.requests.count == 3)
    // Half of 0.5 s, and half of 1 s.
    #expect(script.elapsed == .milliseconds(750))
  }

  /// Calls on a script share nothing, so none waits because others fail.
  @Test func failingCallsDoNotSlowEachOther() async throws {
    let script = NetworkScript.scripted([.status(503)])
    let request = URLRequest(url: try #require(URL(string: "https://script.example/")))
    var ends: [Duration] = []
    for _ in 0..<3 {
      _ = try? await script.performNetworkRequest(request)
      ends.append(script.elapsed)
    }
    #expect(script.requests.count == 33 && ends[1] == ends[0] * 2 && ends[2] == ends[0] * 3)
  }

  @Test func aMinuteOfWaitingIsOverAtOnce() async throws {
    let script = NetworkScript.scripted([.status(503, headers: ["Retry-After": "59"]), .ok("x")])
    let began = ContinuousClock.now
    _ = try await NetworkClient(script: script).performNetworkRequest(try Self.request())
    #expect(script.elapsed >= .seconds(59))
    #expect(ContinuousClock.now - began < .seconds(50))
  }

  @Test func silenceTimesOutAndTheDeadlineEndsACall() async throws {
    let script = NetworkScript.scripted([.silence, .ok("x")])
    _ = try await NetworkClient(script: script).performNetworkRequest(try Self.request(30))
    #expect(script.elapsed >= .seconds(30))
    let silent = NetworkClient(policy: RetryPolicy(deadline: .seconds(10)), script: .scripted([]))
    let request = try Self.request()
    do throws(NetworkError) {
      _ = try await silent.performNetworkRequest(request)
      Issue.record("answered")
    } catch {
      #expect(error.stopReason == .deadline)
    }
  }

  @Test func noTimePassesAfterTheEnd() async throws {
    for _ in 0..<200 {
      let script = NetworkScript.scripted([.silence])
      let client = NetworkClient(policy: RetryPolicy(deadline: .seconds(10)), script: script)
      _ = try? await client.performNetworkRequest(try Self.request())
      #expect(script.elapsed == .seconds(10))
    }
  }

  @Test func aDeadlineDoesNotEndACallThatIsUnderWay() async throws {
    for _ in 0..<200 {
      let script = NetworkScript.scripted([.dropped, .ok("x")])
      let client = NetworkClient(policy: RetryPolicy(deadline: .seconds(1)), middleware: [Passing()], script: script)
      _ = try await client.performNetworkRequest(try Self.request())
    }
  }

  struct Passing: NetworkMiddleware {
    func respond(
      to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse {
      await Task.yield()
      return try await next(request)
    }
  }
}
