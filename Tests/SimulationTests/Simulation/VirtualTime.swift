import Foundation

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Time that passes only from one wait to the next, and an executor that runs all tasks on the thread that calls `run()`.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class VirtualTime: RetryClock, TaskExecutor, @unchecked Sendable {
  // Unchecked: everything happens on the thread that calls `run()`.
  private(set) var now = Duration.zero
  private var heap: [(due: Duration, id: UInt64)] = []
  private var actions: [UInt64: @Sendable () -> Void] = [:]
  private var lastID: UInt64 = 0
  private var jobs: [UnownedJob] = []
  private var generator: SeededRandom
  /// What `random()` returns, if it is not left to chance.
  var fixed: Double?

  init(seed: UInt64) { generator = SeededRandom(seed: seed) }

  var date: Date { Date(timeIntervalSince1970: 1_800_000_000 + now.secondsAsDouble) }
  var isIdle: Bool { actions.isEmpty && jobs.isEmpty }
  func random() -> Double { fixed ?? generator.unit() }

  func sleep(for delay: Duration) async throws {
    lastID += 1
    let id = lastID
    let continuation = Waiting()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (waiting: CheckedContinuation<Void, any Error>) in
        if Task.isCancelled { return waiting.resume(throwing: CancellationError()) }
        continuation.waiting = waiting
        schedule(delay, id) { continuation.take()?.resume() }
      }
    } onCancel: {
      actions[id] = nil
      continuation.take()?.resume(throwing: CancellationError())
    }
  }

  private final class Waiting: @unchecked Sendable {
    var waiting: CheckedContinuation<Void, any Error>?
    func take() -> CheckedContinuation<Void, any Error>? {
      defer { waiting = nil }
      return waiting
    }
  }

  @discardableResult
  func timer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    lastID += 1
    let id = lastID
    schedule(delay, id, action)
    return { [self] in actions[id] = nil }
  }

  func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

  /// Starts a task that runs here.
  @discardableResult
  func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: self) { await work() }
  }

  func run(until end: Duration = .seconds(1_000_000)) {
    while true {
      var index = 0
      while index < jobs.count {
        jobs[index].runSynchronously(on: asUnownedTaskExecutor())
        index += 1
      }
      jobs.removeAll(keepingCapacity: true)
      guard let next = heap.first, next.due <= end else { return }
      pop()
      guard let action = actions.removeValue(forKey: next.id) else { continue }
      now = next.due
      action()
    }
  }

  private func schedule(_ delay: Duration, _ id: UInt64, _ action: @escaping @Sendable () -> Void) {
    actions[id] = action
    heap.append((now + max(.zero, delay), id))
    var child = heap.count - 1
    while child > 0, isBefore(heap[child], heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private func pop() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(heap[child], heap[least]) {
        least = child
      }
      if least == parent { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }

  private func isBefore(_ a: (due: Duration, id: UInt64), _ b: (due: Duration, id: UInt64)) -> Bool {
    a.due == b.due ? a.id < b.id : a.due < b.due
  }
}

/// SplitMix64: the same numbers from the same seed, everywhere.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
  /// Uniform in 0 ..< 1.
  mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }
  mutating func chance(_ probability: Double) -> Bool { unit() < probability }
  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[Int(next() % UInt64(elements.count))] }
  /// The time to the next of events that come with this mean distance, independently of one another.
  mutating func exponential(mean: Double) -> Double { -mean * log(1 - unit()) }
}

/// A transport that passes its requests to a closure.
final class SimulatedTransport: NetworkTransport, @unchecked Sendable {
  // Unchecked: the closures of a simulation are called on its thread.
  typealias Respond = (URLRequest, @escaping @Sendable (NetworkOutcome) -> Void) -> Void
  private let respond: Respond
  init(_ respond: @escaping Respond) { self.respond = respond }

  func send(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
    respond(outgoing.request) { completion.end($0) }
  }
}

/// Responses, made once: making one takes longer than a whole simulated call.
struct Responses {
  private var made: [String: HTTPURLResponse] = [:]

  mutating func response(_ status: Int, retryAfter: Int? = nil) -> HTTPURLResponse? {
    let key = "\(status) \(retryAfter ?? -1)"
    if let response = made[key] { return response }
    guard let url = URL(string: "http://simulated.example/") else { return nil }
    let fields = retryAfter.map { ["Retry-After": "\($0)"] } ?? [:]
    made[key] = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
    return made[key]
  }
}
