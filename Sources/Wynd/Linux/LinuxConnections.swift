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

    struct Place: Hashable {
      var session: ObjectIdentifier
      // A hash of host and port. Two that are taken for one do no harm.
      var authority: UInt64

      init(_ session: URLSession, _ url: URL?) {
        self.session = ObjectIdentifier(session)
        authority = Self.hash(url?.absoluteString ?? "")
      }

      /// Of host and port. By bytes: `host` of a URL takes longer than all the rest of a call here.
      static func hash(_ text: String) -> UInt64 {
        var (hash, host, port) = (UInt64(0), UInt64?.none, UInt64(0))
        var (slashes, isInBrackets) = (0, false)
        loop: for byte in text.utf8 {
          switch byte {
          case 47 where slashes < 2: slashes += 1
          case _ where slashes < 2: continue
          case 47, 63, 35: break loop
          case 64: (hash, host) = (0, nil)
          case 58 where !isInBrackets: (host, port) = (hash, 0)
          default:
            isInBrackets = byte == 91 || isInBrackets && byte != 93
            hash = hash &* 31 &+ UInt64(byte | 32)
            port = port &* 10 &+ UInt64(byte & 15)
          }
        }
        // The scheme's own port may be written or not.
        return (host ?? hash) &* 65_537 &+ (host == nil || port == 80 || port == 443 ? 0 : port)
      }
    }
    private let lock = NSLock()
    private var lastAnswers: [Place: DispatchTime] = [:]
    private var limit = 1000
    // Connections to a proxy are shared by all origins.
    private let hasProxy = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains {
      ProcessInfo.processInfo.environment[$0]?.isEmpty == false
    }

    func add(_ session: URLSession, _ url: URL?, now: DispatchTime = .now()) {
      let place = Place(session, url)
      lock.withLock {
        lastAnswers[place] = now
        guard lastAnswers.count > limit else { return }
        lastAnswers = lastAnswers.filter { Self.isFresh($0.value, now) }
        limit = max(1000, 2 * lastAnswers.count)
      }
    }

    func mayHold(_ session: URLSession, _ url: URL?, now: DispatchTime = .now()) -> Bool {
      hasProxy || lock.withLock { lastAnswers[Place(session, url)].map { Self.isFresh($0, now) } ?? false }
    }

    /// libcurl does not re-use a connection that lay idle for more than 118 s.
    private static func isFresh(_ answer: DispatchTime, _ now: DispatchTime) -> Bool { answer + .seconds(150) > now }
  }
#endif
