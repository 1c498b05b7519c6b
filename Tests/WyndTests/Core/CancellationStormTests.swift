import Dispatch
import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Many parallel calls with faults of all kinds, canceled at random moments, on an ordinary session.
@Suite(.timeLimit(.minutes(30)), .serialized, .fewAtOnce) struct CancellationStormTests {
  static func server() throws -> LoopbackServer {
    try LoopbackServer { request in
      if request.target.hasPrefix("/hop") { return .ok("landed") }
      switch request.index % 12 {
      case 0: return .reset
      case 1: return .close
      case 2: return .status(503)
      case 3: return .truncated
      case 4: return .redirect(to: "/hop")
      case 5: return .redirect(307, to: "/hop")
      case 6: return .challenge()
      case 7: return .hang
      case 8: return .badGzip
      case 9: return .drip("0123456789", pieces: 5, every: 2)
      default: return .ok("hello")
      }
    }
  }

  static func request(_ index: Int, _ url: URL) -> URLRequest {
    var request = URLRequest(url: url, method: ["GET", "PUT", "POST"][index % 3])
    if index % 3 > 0 { request.httpBody = Data("body \(index)".utf8) }
    request.timeoutInterval = [0.05, 0.1, 0.2, 1][index % 4]
    return request
  }

  static let policy = RetryPolicy(
    maxRetries: 3, backoff: .exponential(base: .milliseconds(5), cap: .milliseconds(50)), deadline: .seconds(20),
    budget: .unlimited)

  @Test func completesAThousandHandlerCallsOnceOnTheDelegateQueue() async throws {
    try await Turn.take {
      let server = try Self.server()
      let queue = OperationQueue.serial()
      let count = 1000
      let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
      let completions = (0..<count).map { _ in Counter() }
      let total = Counter()
      // Each call holds its policy, and with it this.
      let token = Box<Held>()
      token.value = Held()
      weak let live = token.value
      var policy = Self.policy
      policy.shouldRetry = { [value = token.value] in
        _ = value
        return $0.shouldRetry
      }
      let wrongQueue = Counter()
      let cancelled = Counter()
      for index in 0..<count {
        let task = session.performNetworkRequest(
          Self.request(index, server.url()), allowEmptyData: true, policy: policy
        ) { result in
          if OperationQueue.current !== queue { wrongQueue.add() }
          if case .failure(.cancelled) = result { cancelled.add() }
          completions[index].add()
          total.add()
        }
        if index % 5 < 3 {
          // Every third of them early, because a call may take less time than this loop.
          let longest = index.isMultiple(of: 5) ? 2_000 : 200_000
          DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(Int.random(in: 0...longest))) {
            task.cancel()
          }
        }
      }
      await total.reaches(count)
      policy = .never
      token.value = nil
      await until { live == nil }
      await handlerValue { end in queue.addBarrierBlock { end(()) } }
      #expect(completions.allSatisfy { $0.value == 1 })
      #expect(wrongQueue.value == 0)
      #expect(cancelled.value > count / 10)
    }
  }

  /// URLSession traps if a redirect is completed after a cancellation and the task has a delegate.
  @Test func cancelingDuringRedirectsNeitherCrashesNorHangs() async throws {
    try await Turn.take {
      let server = try LoopbackServer { .redirect($0.index % 2 == 0 ? 302 : 307, to: "/\($0.index)") }
      let session = URLSession(configuration: .default)
      let total = Counter()
      let twice = Counter()
      for index in 0..<750 {
        let completions = Counter()
        var request = URLRequest(url: server.url(), method: index % 2 == 0 ? "GET" : "PUT")
        if index % 2 == 1 { request.httpBody = Data("x".utf8) }
        let task = session.performNetworkRequest(request, maxRetries: 0) { _ in
          if completions.add() > 1 { twice.add() }
          total.add()
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(Int.random(in: 0...20_000))) {
          task.cancel()
        }
        if index % 50 == 0 { await total.reaches(index / 2) }
      }
      await total.reaches(750)
      #expect(twice.value == 0)
    }
  }

  /// URLSession traps when a task is cancelled while its session looks into the cache: here that ends a moment before the
  /// cancellation, or a moment after it.
  @Test func cancelingDuringACacheLookupDoesNotCrash() async throws {
    try await Turn.take {
      let server = try LoopbackServer(script: .ok())
      let cache = SlowCache(memoryCapacity: 1000, diskCapacity: 0, diskPath: nil)
      let configuration = URLSessionConfiguration.default
      configuration.urlCache = cache
      let session = URLSession(configuration: configuration)
      let total = Counter()
      for index in 0..<1000 {
        let task = session.performNetworkRequest(server.url()) { _ in total.add() }
        if index % 4 > 0 { usleep(UInt32(index % 4 * 100)) }
        task.cancel()
      }
      await total.reaches(1000)
      #if canImport(FoundationNetworking)
        #expect(cache.looks.value == 0)
      #endif
    }
  }

  @Test func handlerCanCancelItsCallAndStartAnother() async throws {
    let server = try LoopbackServer(script: .ok())
    let session = URLSession(configuration: .default)
    let total = Counter()
    @Sendable func next(_ left: Int) {
      let task = Box<NetworkTask>()
      task.value = session.performNetworkRequest(server.url()) { _ in
        task.value?.cancel()
        total.add()
        if left > 1 { next(left - 1) }
      }
    }
    next(200)
    await total.reaches(200)
  }
}

/// A cache with a slow lookup.
final class SlowCache: URLCache, @unchecked Sendable {
  let looks = Counter()
  override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    looks.add()
    usleep(300)
    return nil
  }
}
