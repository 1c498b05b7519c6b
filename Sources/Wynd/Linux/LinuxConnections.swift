#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// Where a kept-alive connection may exist.
  ///
  /// If it turns out dead after the request was sent, libcurl connects again, and may be refused: then the error says that
  /// nothing was sent, while the server has read and applied the request. So that error proves it only where there was no
  /// connection to use again.
  nonisolated enum LinuxConnections {
    private struct Place: Hashable {
      let session: ObjectIdentifier
      let origin: NetworkOrigin?

      init(_ session: URLSession, _ url: URL?) {
        self.session = ObjectIdentifier(session)
        // Connections to a proxy are shared by all origins.
        origin = hasProxy ? nil : NetworkOrigin(url)
      }
    }
    private struct State {
      var lastResponses: [Place: ContinuousClock.Instant] = [:]
      var limit = 1000
    }
    private static let state = NetworkLock(State())
    private static let hasProxy = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains {
      ProcessInfo.processInfo.environment[$0]?.isEmpty == false
    }

    static func add(_ session: URLSession, _ url: URL?, now: ContinuousClock.Instant = .now) {
      let place = Place(session, url)
      state.withLock { state in
        state.lastResponses[place] = now
        guard state.lastResponses.count > state.limit else { return }
        state.lastResponses = state.lastResponses.filter { isFresh($0.value, now) }
        state.limit = max(1000, 2 * state.lastResponses.count)
      }
    }

    static func mayExist(_ session: URLSession, _ url: URL?, now: ContinuousClock.Instant = .now) -> Bool {
      let place = Place(session, url)
      return state.withLock { $0.lastResponses[place].map { isFresh($0, now) } ?? false }
    }

    /// libcurl does not use a connection again that was idle for more than 118 s.
    private static func isFresh(_ response: ContinuousClock.Instant, _ now: ContinuousClock.Instant) -> Bool {
      now - response < .seconds(150)
    }
  }
#endif
