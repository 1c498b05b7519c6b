#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// Where a kept-alive connection may exist.
  ///
  /// If it turns out dead after the request was sent, libcurl connects again, and may be refused: then the error says that
  /// nothing was sent, while the server has read and applied the request. So that error proves it only where there was no
  /// connection to use again.
  nonisolated enum LinuxConnections {
    private static let lastResponses = NetworkLock<[String: ContinuousClock.Instant]>([:])
    private static let hasProxy = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains {
      ProcessInfo.processInfo.environment[$0]?.isEmpty == false
    }

    /// Connections to a proxy are shared by all origins.
    private static func place(_ session: URLSession, _ url: URL?) -> String {
      "\(ObjectIdentifier(session).hashValue) \(hasProxy ? "" : NetworkOrigin(url).text)"
    }

    static func add(_ session: URLSession, _ url: URL?, now: ContinuousClock.Instant = .now) {
      let place = place(session, url)
      lastResponses.withLock { all in
        let isNew = all.updateValue(now, forKey: place) == nil
        if isNew, all.count.isMultiple(of: 1000) { all = all.filter { isFresh($0.value, now) } }
      }
    }

    static func mayExist(_ session: URLSession, _ url: URL?, now: ContinuousClock.Instant = .now) -> Bool {
      let place = place(session, url)
      return lastResponses.withLock { $0[place].map { isFresh($0, now) } ?? false }
    }

    /// libcurl does not use a connection again that was idle for more than 118 s.
    private static func isFresh(_ response: ContinuousClock.Instant, _ now: ContinuousClock.Instant) -> Bool {
      now - response < .seconds(150)
    }
  }
#endif
