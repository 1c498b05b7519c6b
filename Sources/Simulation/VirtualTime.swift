import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Time that passes only from one wait to the next, for one thread.
final class VirtualTime: RetryClock, @unchecked Sendable {
  private(set) var now = Duration.zero
  private var heap: [(due: Duration, id: UInt64)] = []
  private var actions: [UInt64: @Sendable () -> Void] = [:]
  private var lastID: UInt64 = 0
  var random_: SeededRandom
  /// What `random()` says, if it is not left to chance.
  var fixed: Double?

  init(seed: UInt64) { random_ = SeededRandom(seed: seed) }

  var date: Date { Date(timeIntervalSince1970: 1_800_000_000 + now.secondsAsDouble) }
  var isIdle: Bool { actions.isEmpty }
  func random() -> Double { fixed ?? random_.unit() }

  func wait(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> RetryWait {
    lastID += 1
    actions[lastID] = action
    heap.append((now + max(.zero, delay), lastID))
    var child = heap.count - 1
    while child > 0, isBefore(heap[child], heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
    return RetryWait(id: lastID)
  }

  func cancel(_ wait: RetryWait) { actions[wait.id] = nil }

  func run(until end: Duration = .seconds(1_000_000)) {
    while let next = heap.first, next.due <= end {
      heap.swapAt(0, heap.count - 1)
      heap.removeLast()
      var parent = 0
      while true {
        var least = parent
        for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(heap[child], heap[least]) {
          least = child
        }
        if least == parent { break }
        heap.swapAt(parent, least)
        parent = least
      }
      guard let action = actions.removeValue(forKey: next.id) else { continue }
      now = next.due
      action()
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

/// A transport whose sends a closure answers, in virtual time.
final class SimulatedTransport: NetworkTransport, @unchecked Sendable {
  typealias Answering = (URLRequest, @escaping @Sendable (NetworkOutcome) -> Void) -> Void
  private let answering: Answering
  init(_ answering: @escaping Answering) { self.answering = answering }

  var isOver: Bool { false }
  func refusal(of request: URLRequest) -> String? { nil }
  func send(_ request: URLRequest, completion: @escaping @Sendable (NetworkOutcome) -> Void) -> any NetworkFlight {
    answering(request, completion)
    return Flight.shared
  }

  private final class Flight: NetworkFlight {
    static let shared = Flight()
    func cancel() {}
  }
}

/// Answers, made once: making one takes longer than a whole simulated call.
struct Answers {
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
