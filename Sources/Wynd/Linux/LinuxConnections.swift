#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import FoundationNetworking

  /// Where a kept-alive connection may lie.
  ///
  /// If it turns out dead after the request was sent, libcurl connects anew, and may be refused: then the error says that
  /// nothing was sent, while the server has read the request, applied it and gone. So that error proves it only where
  /// there was no connection to re-use.
  nonisolated final class LinuxConnections: @unchecked Sendable {
    static let shared = LinuxConnections()

    private struct Place: Hashable {
      var session: ObjectIdentifier
      // A hash of host and port. Two that are taken for one do no harm.
      var authority: UInt64

      init(_ session: URLSession, _ url: URL?) {
        self.session = ObjectIdentifier(session)
        // By bytes: `host` of a URL takes longer than all the rest of a call here.
        let text = url?.absoluteString ?? ""
        let rest = text.utf8.drop { $0 != 47 }.dropFirst(2)
        let authority = rest.prefix { $0 != 47 && $0 != 63 && $0 != 35 }
        var host = authority.lastIndex(of: 64).map { authority[$0...].dropFirst() } ?? authority
        for port in [":80", ":443"] where host.reversed().starts(with: port.utf8.reversed()) {
          host = host.dropLast(port.utf8.count)
        }
        self.authority = host.reduce(5381) { $0 &* 33 &+ UInt64($1 | 32) }
      }
    }
    private let lock = NSLock()
    private var lastAnswers: [Place: DispatchTime] = [:]
    private var limit = 1000
    // Connections to a proxy are shared by all origins.
    private let hasProxy = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains {
      ProcessInfo.processInfo.environment[$0]?.isEmpty == false
    }

    func add(_ session: URLSession, _ url: URL?) {
      let place = Place(session, url)
      let now = DispatchTime.now()
      lock.withLock {
        lastAnswers[place] = now
        guard lastAnswers.count > limit else { return }
        lastAnswers = lastAnswers.filter { Self.isFresh($0.value, now) }
        limit = max(1000, 2 * lastAnswers.count)
      }
    }

    func mayHold(_ session: URLSession, _ url: URL?) -> Bool {
      let place = Place(session, url)
      return hasProxy || lock.withLock { lastAnswers[place].map { Self.isFresh($0, .now()) } ?? false }
    }

    /// libcurl does not re-use a connection that lay idle for more than 118 s.
    private static func isFresh(_ answer: DispatchTime, _ now: DispatchTime) -> Bool { answer + .seconds(150) > now }
  }
#endif
