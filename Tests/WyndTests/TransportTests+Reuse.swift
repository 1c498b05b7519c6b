import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension TransportTests {
  // MARK: Time-outs, and who counts them

  #if canImport(FoundationNetworking)
    /// While a large body is under way only URLSession knows whether it moves, and it counts whole seconds: the server reads
    /// on after 1.4 s, which is longer than the fraction and shorter than the next whole second.
    @Test func aFractionDoesNotCutALargeBodyThatMoves() async throws {
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

  /// The limit of each attempt begins anew: three silent attempts take three time-outs, and each one ends.
  @Test func eachAttemptHasItsOwnTimeout() async throws {
    let server = try LoopbackServer(script: .hang, .hang, .hang, .ok("x"))
    var request = URLRequest(url: server.url())
    request.timeoutInterval = 0.5
    let policy = RetryPolicy(maxRetries: 2, backoff: .none, budget: nil)
    let error = await session.result(of: request, policy: policy).error
    #expect(error?.attempts.count == 3)
    for attempt in error?.attempts ?? [] {
      #expect(attempt.error?.urlError?.code == .timedOut)
      #expect(attempt.duration >= .milliseconds(490))
    }
  }

  /// A time-out that has been counted for one hop of a redirect must not end the next one.
  @Test func eachHopOfARedirectHasItsOwnTimeout() async throws {
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

  // MARK: Connections

  @Test func aConnectionIsKeptAndUsedAgain() async throws {
    let server = try LoopbackServer(script: .ok("x"))
    for _ in 0..<5 { _ = try await session.performNetworkRequest(server.url()) }
    #expect(server.requests.map(\.connection) == [0, 0, 0, 0, 0])
    #expect(server.requests.map(\.indexOnConnection) == [0, 1, 2, 3, 4])
  }

  /// A response on a connection that may be kept says that a later refusal proves nothing, for this host and session.
  @Test func aRefusalAfterAResponseDoesNotProveThatNothingWasSent() async throws {
    for isWarm in [true, false] {
      let server = try LoopbackServer(script: .ok("x"))
      let url = server.url()
      if isWarm { _ = try await session.performNetworkRequest(url) }
      server.stop()
      var request = URLRequest(url: url, method: "POST")
      request.httpBody = Data("order".utf8)
      let log = EventLog()
      let policy = RetryPolicy(maxRetries: 1, backoff: .none, budget: nil, onEvent: log.add)
      let own = isWarm ? session : URLSession(configuration: .ephemeral)
      let error = await own.result(of: request, policy: policy).error
      #expect(error?.urlError?.code == .cannotConnectToHost)
      #if canImport(FoundationNetworking)
        #expect(log.safeties.first == (isWarm ? .mayHaveBeenApplied : .nothingSent))
      #endif
    }
  }

  // MARK: Errors

  /// What Foundation itself said is kept beneath the error it is reported as.
  @Test func anErrorThatIsNormalizedKeepsTheOriginal() async throws {
    let server = try LoopbackServer(script: .truncated)
    let error = try #require(
      await session.result(of: URLRequest(url: server.url("/x?q=1")), policy: .never).error?.urlError)
    #expect(error.code == .networkConnectionLost)
    #expect((error.userInfo[NSURLErrorFailingURLErrorKey] as? URL)?.path == "/x")
    #if canImport(FoundationNetworking)
      let original = try #require(error.userInfo[NSUnderlyingErrorKey] as? URLError)
      #expect(original.code == .unknown)
      #expect(original.userInfo[NSLocalizedDescriptionKey] as? String == error.localizedDescription)
    #endif
  }

  @Test func aFileOrADataURLIsNotHTTP() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "wynd-\(UUID().uuidString)")
    try Data("text".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let log = EventLog()
    let error = await session.result(of: URLRequest(url: file), policy: RetryPolicy(onEvent: log.add)).error
    #expect(error != nil && error?.shouldRetry == false && error?.response == nil)
    #expect(log.gaveUp == .notRetryable)
  }
}
