import Foundation

/// What the calls to one host share while it fails: one of those that wait goes first, and the others follow once it got
/// through.
///
/// In a lasting outage every call on its own would be sent again and again, eight times the load that the host could not
/// carry in the first place. With a budget that they share, the waiting calls of a process send one probe at a time, less
/// and less often, and the first success of any call to that host lets the others go, spread over a while. First attempts
/// are never held up, and neither is what never reached a server. No call gives up sooner for it.
///
/// ``RetryPolicy/default`` shares ``shared``. Give a policy a budget of its own, or none:
///
/// ```swift
/// var policy = RetryPolicy.default
/// policy.budget = RetryBudget()     // these calls share with one another only
/// policy.budget = nil               // every call for itself
/// ```
nonisolated public final class RetryBudget: Sendable {
  /// Shared by the whole process.
  public static let shared = RetryBudget()

  /// Makes a budget that shares nothing with others.
  public init() {}

  /// Hosts that are remembered at the most; calls to further ones go by themselves.
  static let capacity = 256
  private static let pace = Backoff.exponential(base: .milliseconds(500), cap: .seconds(20))
  private let state = State()

  private final class State: @unchecked Sendable {
    let lock = NSLock()
    // Under the lock, and nothing foreign is called with it held. A host that answers is not in it.
    var hosts: [String: Host] = [:]
    var lastID: UInt64 = 0
  }

  /// A host of which nothing but failures has come lately.
  private struct Host {
    let since: Duration
    var lastFailure: Duration
    var failedProbes = 0
    /// The retry that is on its way; no other is, until it has ended.
    var probe: UInt64?
    var lastProbe: UInt64?
    var nextProbe: Duration
    var timer: RetryWait?
    var held: [Held] = []
    /// The paths of the probes that failed, the latest last. One broken path must not take every turn.
    var probedPaths: [String] = []
  }

  private struct Held {
    let id: UInt64
    let path: String
    let go: @Sendable (Go) -> Void
  }

  /// Why a call that was held goes on.
  enum Go: Sendable {
    /// It is its turn, as the probe of this number.
    case asProbe(UInt64)
    /// The host answers again. The wait spreads those who waited.
    case after(Duration)
  }
  enum Entry: Sendable {
    case free
    case probe(UInt64)
    case held(UInt64)
  }

  var hostCount: Int { state.lock.withLock { state.hosts.count } }

  /// The host has answered.
  func succeeded(_ url: URL?, _ clock: any RetryClock) {
    let host: Host? = state.lock.withLock { state.hosts.isEmpty ? nil : state.hosts.removeValue(forKey: Self.key(url)) }
    guard let host else { return }
    host.timer.map(clock.cancel)
    // One after the other, over three fifths of the outage, so that a fleet does not come back as one; but no slower than
    // one a second, so that a few do not wait for nothing.
    let gap = min((clock.now - host.since) * 3 / 5 / Double(max(1, host.held.count)), .seconds(1))
    for (place, call) in host.held.enumerated() { call.go(.after(gap * (Double(place) + clock.random()))) }
  }

  /// A call failed that may have reached the host; `id` if it was the probe.
  func failed(_ url: URL?, _ id: UInt64?, _ clock: any RetryClock) {
    let (key, now) = (Self.key(url), clock.now)
    state.lock.withLock {
      if state.hosts[key] == nil {
        if state.hosts.count >= Self.capacity {
          let idle = state.hosts.filter { $0.value.held.isEmpty && $0.value.probe == nil }
          guard let oldest = idle.min(by: { $0.value.lastFailure < $1.value.lastFailure })?.key else { return }
          state.hosts[oldest] = nil
        }
        state.hosts[key] = Host(since: now, lastFailure: now, nextProbe: now)
      }
      state.hosts[key]?.lastFailure = now
      guard let id, state.hosts[key]?.probe == id else { return }
      state.hosts[key]?.lastProbe = id
      state.hosts[key]?.failedProbes += 1
      state.hosts[key]?.probedPaths.removeAll { $0 == url?.path }
      state.hosts[key]?.probedPaths.append(url?.path ?? "")
      if state.hosts[key]?.probedPaths.count ?? 0 > 16 { state.hosts[key]?.probedPaths.removeFirst() }
      let failures = state.hosts[key]?.failedProbes ?? 1
      let pause = Self.pace.delay(retry: failures - 1, random: 0.5 + clock.random() / 2)
      free(key, from: now + pause, clock)
    }
  }

  /// May this retry go? If it is held, `go` is called once, unless it leaves before. `id` is the call's, if it has been
  /// here before.
  func enter(_ url: URL?, _ id: UInt64?, _ clock: any RetryClock, go: @escaping @Sendable (Go) -> Void) -> Entry {
    let (key, now) = (Self.key(url), clock.now)
    return state.lock.withLock {
      guard let host = state.hosts[key] else { return .free }
      if id == nil { state.lastID += 1 }
      let id = id ?? state.lastID
      // A call that is alone with its host has its own backoff.
      if host.probe == nil, host.held.isEmpty, host.nextProbe <= now || host.lastProbe == id {
        state.hosts[key]?.probe = id
        return .probe(id)
      }
      state.hosts[key]?.held.append(Held(id: id, path: url?.path ?? "", go: go))
      if host.probe == nil, host.timer == nil { free(key, from: host.nextProbe, clock) }
      return .held(id)
    }
  }

  /// The call ended while it was held, or was the probe.
  func leave(_ url: URL?, _ id: UInt64, _ clock: any RetryClock) {
    let key = Self.key(url)
    state.lock.withLock {
      state.hosts[key]?.held.removeAll { $0.id == id }
      if state.hosts[key]?.probe == id { free(key, from: clock.now, clock) }
    }
  }

  /// Under the lock: the next that is held may go from then on.
  private func free(_ key: String, from time: Duration, _ clock: any RetryClock) {
    state.hosts[key]?.probe = nil
    state.hosts[key]?.nextProbe = time
    guard state.hosts[key]?.held.isEmpty == false else { return }
    state.hosts[key]?.timer = clock.wait(time - clock.now) { [self] in sendNext(key) }
  }

  private func sendNext(_ key: String) {
    let next: Held? = state.lock.withLock {
      state.hosts[key]?.timer = nil
      guard let host = state.hosts[key], host.probe == nil else { return nil }
      let turns = host.held.map { host.probedPaths.firstIndex(of: $0.path) ?? -1 }
      guard let place = turns.indices.min(by: { turns[$0] < turns[$1] }) else { return nil }
      state.hosts[key]?.held.remove(at: place)
      state.hosts[key]?.probe = host.held[place].id
      return host.held[place]
    }
    if let next { next.go(.asProbe(next.id)) }
  }

  private static func key(_ url: URL?) -> String { RedirectGuard.origin(url) }
}
