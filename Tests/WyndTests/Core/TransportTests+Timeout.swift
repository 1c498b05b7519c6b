import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension TransportTests {
  // MARK: Time-outs

  /// On Linux, in whole seconds, rounded up.
  @Test(arguments: [0.05, 0.4, 1, 1.5]) func timesOutOnTime(_ timeout: Double) async throws {
    #if canImport(FoundationNetworking)
      let limit = timeout.rounded(.up)
    #else
      let limit = timeout
    #endif
    try await Turn.take {
      let server = try LoopbackServer(script: .hang)
      var request = URLRequest(url: server.url())
      request.timeoutInterval = timeout
      // Other tests share the cores. A systematic delay would show in every attempt.
      var soonest = Double.infinity
      for _ in 0..<Int(20 / limit) where soonest > 0.2 {
        let began = ContinuousClock.now
        let result = await session.result(of: request, policy: .never)
        let late = (ContinuousClock.now - began) / .seconds(1) - limit
        #expect(result.error?.urlError?.code == .timedOut)
        #expect(late > -0.02)
        soonest = min(soonest, late)
      }
      #expect(soonest <= 0.2)
    }
  }

  /// Seconds until the request times out, the least of some attempts, of which the first that is fast enough is the last.
  private func soonest(of request: URLRequest, at limit: Double) async -> Double {
    var soonest = Double.infinity
    for _ in 0..<8 where soonest > limit {
      let began = ContinuousClock.now
      let result = await session.result(of: request, policy: .never)
      #expect(result.error?.urlError?.code == .timedOut)
      soonest = min(soonest, (ContinuousClock.now - began) / .seconds(1))
    }
    return soonest
  }

  @Test func timesOutAStalledBodyWithinASecond() async throws {
    let server = try LoopbackServer(script: .stall)
    var request = URLRequest(url: server.url())
    request.timeoutInterval = 0.4
    #expect(await soonest(of: request, at: 1.45) <= 1.45)
  }

  /// Never silent for as long as its time-out, with room for a machine that stands still for a second; longer in all.
  @Test func doesNotTimeOutAnActiveTransfer() async throws {
    let server = try LoopbackServer(script: .drip("0123456789", pieces: 10, every: 350))
    var request = URLRequest(url: server.url())
    request.timeoutInterval = 2.5
    var began = ContinuousClock.now
    var result = await session.result(of: request, policy: .never)
    for _ in 0..<4 where result.error != nil {
      began = .now
      result = await session.result(of: request, policy: .never)
    }
    #expect(try result.get().text == "0123456789")
    #expect(ContinuousClock.now - began > .seconds(3))
  }

  @Test(arguments: [0, -1, .nan, -.infinity, .infinity, 1e300, 1e12]) func treatsInvalidTimeoutsAsTheDefaultOrNone(
    _ timeout: Double
  ) async throws {
    let server = try LoopbackServer(script: .drip("late", pieces: 1, every: 50))
    var request = URLRequest(url: server.url())
    request.timeoutInterval = timeout
    #expect(await session.result(of: request, policy: .never).error == nil)
  }

  @Test func usesTheTimeoutOfTheSessionForZero() async throws {
    let configuration = URLSessionConfiguration.default
    configuration.timeoutIntervalForRequest = 1.3
    let server = try LoopbackServer(script: .hang)
    for timeout in [0, -5, .nan, 60] {
      var request = URLRequest(url: server.url())
      request.timeoutInterval = timeout
      let began = ContinuousClock.now
      let result = await URLSession(configuration: configuration).result(of: request, policy: .never)
      #expect(result.error?.urlError?.code == .timedOut)
      #expect((.milliseconds(1290)...(.seconds(30))).contains(ContinuousClock.now - began), "\(timeout)")
    }
  }

  #if canImport(FoundationNetworking)
    /// While a large body is under way only URLSession knows whether it moves, and it counts whole seconds: the server reads
    /// on after 1.4 s, which is longer than the fraction and shorter than the next whole second.
    @Test func fractionalTimeoutDoesNotEndAnActiveUpload() async throws {
      try await Turn.take {
        var error: NetworkError?
        // A machine that stands still for half a second is allowed for.
        for _ in 0..<5 {
          let server = try LoopbackServer(
            beforeBody: { _ in
              usleep(1_400_000)
              return nil
            }, respond: { .ok("\($0.body.count)") })
          var request = URLRequest(url: server.url(), method: "PUT")
          request.httpBody = Data(count: 16 << 20)
          request.timeoutInterval = 1.1
          let result = await session.result(of: request, policy: .never)
          error = result.error
          if case .success(let data) = result {
            #expect(data == Data("\(16 << 20)".utf8))
            break
          }
        }
        #expect(error == nil)
      }
    }
  #endif

  /// Each attempt has its own limit: three silent attempts take three time-outs.
  @Test func eachAttemptHasItsOwnTimeout() async throws {
    let server = try LoopbackServer(script: .hang, .hang, .hang, .ok("x"))
    var request = URLRequest(url: server.url())
    request.timeoutInterval = 0.5
    let policy = RetryPolicy.quick(maxRetries: 2)
    let error = await session.result(of: request, policy: policy).error
    #expect(error?.attempts.count == 3)
    for attempt in error?.attempts ?? [] {
      #expect(attempt.error?.urlError?.code == .timedOut)
      #expect(attempt.duration >= .milliseconds(490))
    }
  }

  /// A time-out that has been counted for one hop of a redirect must not end the next one.
  @Test func eachRedirectHasItsOwnTimeout() async throws {
    try await Turn.take {
      var error: NetworkError?
      for _ in 0..<5 {
        let server = try LoopbackServer { request in
          usleep(450_000)
          let hop = Int(request.target.dropFirst()) ?? 0
          return hop < 3 ? .redirect(to: "/\(hop + 1)") : .ok("there")
        }
        var request = URLRequest(url: server.url("/0"))
        request.timeoutInterval = 0.9
        error = await session.result(of: request, policy: .never).error
        if error == nil { break }
      }
      #expect(error == nil)
    }
  }
}
