import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A script whose closure waits, so that a test sees what the app shows meanwhile.
extension NetworkScriptTests {
  static func load(_ script: NetworkScript, policy: RetryPolicy = .default) async throws -> String {
    try await script.load(.get("/users", as: String.self), policy: policy)
  }

  @Test func closureRespondsAtOnce() async throws {
    let script = NetworkScript { _, _ in .ok("x") }
    #expect(try await Self.load(script) == "x" && script.requests.count == 1)
  }

  /// The simulated time stands still, so the deadline does not end the call.
  @Test func holdsARequestUntilTheTestLetsItGo() async throws {
    let (isReached, gate, ended) = (Gate(), Gate(), Box(false))
    let script = NetworkScript { _, _ in
      isReached.open()
      await gate.wait()
      return .ok("x")
    }
    let loading = Task {
      defer { ended.value = true }
      return try await Self.load(script, policy: RetryPolicy(deadline: .milliseconds(1)))
    }
    await isReached.wait()
    #expect(ended.value == false && script.requests.count == 1)
    gate.open()
    #expect(try await loading.value == "x" && script.elapsed == .zero)
  }

  @Test func anotherCallIsAnsweredWhileOneWaits() async throws {
    let (isReached, gate) = (Gate(), Gate())
    let script = NetworkScript { _, number in
      if number == 0 {
        isReached.open()
        await gate.wait()
      }
      return .ok("\(number)")
    }
    let first = Task { try await Self.load(script) }
    await isReached.wait()
    #expect(try await Self.load(script) == "1")
    gate.open()
    #expect(try await first.value == "0" && script.requests.count == 2)
  }

  /// Even if the closure does not notice it.
  @Test func aCallCanBeCanceledWhileItsClosureWaits() async throws {
    let (isReached, gate) = (Gate(), Gate())
    let script = NetworkScript { _, _ in
      isReached.open()
      await gate.wait()
      return .ok("x")
    }
    let loading = Task { try await Self.load(script) }
    await isReached.wait()
    loading.cancel()
    #expect(await loading.result.isCancelled)
    gate.open()
    #expect(script.requests.count == 1)
  }

  /// The stream of the example in the documentation ends.
  @Test func cancelingACallCancelsItsClosure() async throws {
    let (stream, opening) = AsyncStream.makeStream(of: Void.self)
    let (isReached, isCanceled) = (Gate(), Gate())
    let script = NetworkScript { _, _ in
      isReached.open()
      for await _ in stream { break }
      if Task.isCancelled { isCanceled.open() }
      return .ok("x")
    }
    let loading = Task { try await Self.load(script) }
    await isReached.wait()
    loading.cancel()
    await isCanceled.wait()
    #expect(await loading.result.isCancelled)
    withExtendedLifetime(opening) {}
  }

  @Test func aStreamLetsEachRequestOfItsClosureGo() async throws {
    let (stream, opening) = AsyncStream.makeStream(of: Void.self)
    let script = NetworkScript { _, number in
      for await _ in stream { break }
      return .ok("\(number)")
    }
    let loading = Task { try await Self.load(script) }
    opening.yield()
    #expect(try await loading.value == "0")
    // For all that follow.
    opening.finish()
    #expect(try await Self.load(script) == "1")
    #expect(try await Self.load(script) == "2")
  }
}
