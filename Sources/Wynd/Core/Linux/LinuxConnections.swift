#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// Remembers to which origins a kept-alive connection may exist.
  ///
  /// If such a connection turns out to be dead after the request was sent, libcurl connects again. If that is refused,
  /// the error looks as if nothing had been sent, although the server may have applied the request. So the error proves
  /// that nothing was sent only if there was no connection to reuse.
  nonisolated enum LinuxConnections {
    private static let lastResponses = NetworkLock<[Int: ContinuousClock.Instant]>([:])
    private static let hasProxy = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains {
      ProcessInfo.processInfo.environment[$0]?.isEmpty == false
    }

    /// The origin that a connection belongs to. Connections to a proxy are shared by all origins.
    static func origin(of url: URL?) -> NetworkOrigin { NetworkOrigin(hasProxy ? nil : url) }

    /// The key of a connection.
    private static func place(_ session: URLSession, _ url: URL?) -> Int {
      var hasher = Hasher()
      hasher.combine(ObjectIdentifier(session))
      hasher.combine(origin(of: url))
      return hasher.finalize()
    }

    static func add(_ session: URLSession, _ url: URL?, now: ContinuousClock.Instant = .now) {
      let place = place(session, url)
      lastResponses.withLock { all in
        let isNew = all.updateValue(now, forKey: place) == nil
        guard isNew, all.count.isMultiple(of: 1000) else { return }
        for (place, response) in all where !isFresh(response, now) { all[place] = nil }
      }
    }

    /// Whether libcurl closes the connection after this response.
    static func ends(after response: URLResponse?) -> Bool {
      let field = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Connection") ?? ""
      return field.split(separator: ",").contains { $0.trimmingCharacters(in: .whitespaces).lowercased() == "close" }
    }

    static func mayExist(_ session: URLSession, _ url: URL?, now: ContinuousClock.Instant = .now) -> Bool {
      let place = place(session, url)
      return lastResponses.withLock { $0[place].map { isFresh($0, now) } ?? false }
    }

    /// libcurl does not reuse a connection that was idle for more than 118 s. Rounded up: a value that is too high costs the
    /// retry of a POST, one that is too low could send it twice.
    private static func isFresh(_ response: ContinuousClock.Instant, _ now: ContinuousClock.Instant) -> Bool {
      now - response < .seconds(150)
    }
  }
#endif
