/// Holds a request of a ``NetworkScript`` until a test lets it go, to test what an app shows meanwhile.
///
/// ```swift
/// let gate = NetworkScriptGate()
/// let script = NetworkScript([.held(gate, .ok("[]"))])
/// let loading = Task { try await script.load(.get("/users", as: [User].self)) }
/// await gate.waitUntilReached()
/// // Here, the app shows that it is loading. `loading.cancel()` would end the call.
/// gate.open()
/// let users = try await loading.value
/// ```
///
/// The simulated time stands still while a request is held, so a deadline does not end it; a cancellation does.
nonisolated public final class NetworkScriptGate: Sendable {
  private struct State: Sendable {
    var isOpen = false
    var isReached = false
    /// The requests that wait for the gate to be opened.
    var held: [@Sendable () -> Void] = []
    /// The tests that wait for a request.
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let state = NetworkLock(State())

  /// Makes a closed gate.
  public init() {}

  /// Lets all requests pass, those that wait and later ones.
  public func open() {
    let held = state.withLock { state in
      state.isOpen = true
      defer { state.held = [] }
      return state.held
    }
    for action in held { action() }
  }

  /// Returns when a request has reached the gate.
  public func waitUntilReached() async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if !state.isReached { state.waiting.append(continuation) }
        return state.isReached
      }
      if isReached { continuation.resume() }
    }
  }

  func pass(_ action: @escaping @Sendable () -> Void) {
    let (waiting, isOpen) = state.withLock { state in
      defer { state.waiting = [] }
      state.isReached = true
      if !state.isOpen { state.held.append(action) }
      return (state.waiting, state.isOpen)
    }
    for continuation in waiting { continuation.resume() }
    if isOpen { action() }
  }
}
