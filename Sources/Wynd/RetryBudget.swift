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
  private static let pace = RetryPolicy.default.backoff
  private let state = State()

  private final class State: @unchecked Sendable {
    let lock = NSLock()
    // Under the lock, and nothing foreign is called with it held. A host that answers is not in it.
    var hosts: [String: Host] = [:]
    var lastID: UInt64 = 0
  }

  /// A host of which nothing but failures has come lately. Under the lock.
  private final class Host {
    let since: Duration
    var lastFailure: Duration
    var failedProbes = 0
    /// The retry that is on its way; no other is, until it has ended.
    var probe: UInt64?
    var lastProbe: UInt64?
    var nextProbe: Duration
    var timer: RetryWait?
    var held: [UInt64: Held] = [:]
    /// The paths of the probes that failed, the latest last. One broken path must not take every turn.
    var probedPaths: [String] = []
    var isIdle: Bool { held.isEmpty && probe == nil }

    init(_ now: Duration) { (since, lastFailure, nextProbe) = (now, now, now) }
  }

  private struct Held {
    /// They come in by this, and go in this order.
    let place: UInt64
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
    for (place, call) in host.held.values.sorted(by: { $0.place < $1.place }).enumerated() {
      call.go(.after(gap * (Double(place) + clock.random())))
    }
  }

  /// A call failed that may have reached the host; `id` if it was the probe.
  func failed(_ url: URL?, _ id: UInt64?, _ clock: any RetryClock) {
    let (key, now) = (Self.key(url), clock.now)
    state.lock.withLock {
      var host = state.hosts[key]
      // Nobody has asked for so long that this is another outage.
      if let old = host, old.isIdle, now - old.lastFailure > .seconds(60) { host = nil }
      guard let host = host ?? add(key, now) else { return }
      host.lastFailure = now
      guard let id, host.probe == id else { return }
      host.lastProbe = id
      let path = url?.path ?? ""
      host.probedPaths = host.probedPaths.filter { $0 != path }.suffix(15) + [path]
      let pause = Self.pace.delay(retry: host.failedProbes, random: 0.5 + clock.random() / 2)
      host.failedProbes += 1
      free(host, key, from: now + pause, clock)
    }
  }

  /// Under the lock. In place of the one that failed longest ago, if there are too many; nil if calls wait for every one.
  private func add(_ key: String, _ now: Duration) -> Host? {
    if state.hosts[key] == nil, state.hosts.count >= Self.capacity {
      let idle = state.hosts.filter(\.value.isIdle)
      guard let oldest = idle.min(by: { $0.value.lastFailure < $1.value.lastFailure })?.key else { return nil }
      state.hosts[oldest] = nil
    }
    let host = Host(now)
    state.hosts[key] = host
    return host
  }

  /// May this retry go? If it is held, `go` is called once, unless it leaves before. `id` is the call's, if it has been
  /// here before.
  func enter(_ url: URL?, _ id: UInt64?, _ clock: any RetryClock, go: @escaping @Sendable (Go) -> Void) -> Entry {
    let (key, now) = (Self.key(url), clock.now)
    return state.lock.withLock {
      guard let host = state.hosts[key] else { return .free }
      state.lastID += 1
      let id = id ?? state.lastID
      // A call that is alone with its host has its own backoff.
      if host.probe == nil, host.held.isEmpty, host.nextProbe <= now || host.lastProbe == id {
        host.probe = id
        return .probe(id)
      }
      host.held[id] = Held(place: state.lastID, path: url?.path ?? "", go: go)
      if host.probe == nil, host.timer == nil { free(host, key, from: host.nextProbe, clock) }
      return .held(id)
    }
  }

  /// The call ended while it was held, or was the probe.
  func leave(_ url: URL?, _ id: UInt64, _ clock: any RetryClock) {
    let key = Self.key(url)
    state.lock.withLock {
      guard let host = state.hosts[key] else { return }
      host.held[id] = nil
      if host.probe == id { free(host, key, from: clock.now, clock) }
    }
  }

  /// Under the lock: the next that is held may go from then on.
  private func free(_ host: Host, _ key: String, from time: Duration, _ clock: any RetryClock) {
    host.probe = nil
    host.nextProbe = time
    host.timer.map(clock.cancel)
    host.timer = host.held.isEmpty ? nil : clock.wait(time - clock.now) { [self] in sendNext(key) }
  }

  private func sendNext(_ key: String) {
    let go: (@Sendable () -> Void)? = state.lock.withLock {
      guard let host = state.hosts[key] else { return nil }
      host.timer = nil
      func turn(_ held: Held) -> Int { host.probedPaths.firstIndex(of: held.path) ?? -1 }
      guard host.probe == nil,
        let (id, next) = host.held.min(by: { (turn($0.value), $0.value.place) < (turn($1.value), $1.value.place) })
      else { return nil }
      host.probe = id
      host.held[id] = nil
      return { next.go(.asProbe(id)) }
    }
    go?()
  }

  private static func key(_ url: URL?) -> String { RedirectGuard.origin(url) }
}
