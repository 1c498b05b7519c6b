#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking
  import Testing
  import WyndLoopbackServer

  @testable import Wynd

  /// Whether two addresses may share a connection: treating one origin as two could send a POST twice.
  @Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct LinuxConnectionsTests {
    static let same = [
      [
        "http://a.example", "http://a.example/", "http://a.example/x/y?q=1:2@3#f", "http://A.EXAMPLE:80/x",
        "HTTP://a.example?q",
      ],
      ["https://c.example/", "https://c.example:443/x", "https://u:p@c.example/", "https://u:80@c.example:443"],
      ["http://127.0.0.1:8080/a", "http://127.0.0.1:8080", "http://u@127.0.0.1:8080/b:9/"],
      ["http://[::1]/", "http://[::1]:80/x", "http://u:p@[::1]"], ["http://[::1]:8080/", "http://[::1]:8080?x"],
      ["http://b.example/", "http://b.example:80/"],
    ]

    @Test func remembersConnectionsByOrigin() throws {
      // All sessions exist at the same time, because a new one could have the address of one that was released.
      let sessions = Self.same.map { _ in URLSession(configuration: .ephemeral) }
      for (session, row) in zip(sessions, Self.same) {
        LinuxConnections.add(session, URL(string: row[0]))
        for text in row { #expect(LinuxConnections.mayExist(session, URL(string: text)), "\(text)") }
        for other in Self.same where other != row {
          #expect(!LinuxConnections.mayExist(session, URL(string: other[0])), "\(row[0]) \(other[0])")
        }
      }
    }

    /// libcurl keeps an idle connection for 118 s. Seconds since the last response → may it still be there?
    @Test func remembersAConnectionWhileItMayBeReused() throws {
      let (session, other) = (URLSession(configuration: .ephemeral), URLSession(configuration: .ephemeral))
      let url = URL(string: "http://kept.example/x")
      let start = ContinuousClock.now
      #expect(!LinuxConnections.mayExist(session, url, now: start))
      LinuxConnections.add(session, url, now: start)
      for (seconds, mayHold) in [
        (0, true), (15, true), (60, true), (118, true), (149, true), (151, false), (600, false),
      ] {
        #expect(LinuxConnections.mayExist(session, url, now: start + .seconds(seconds)) == mayHold, "\(seconds)")
      }
      #expect(!LinuxConnections.mayExist(other, url, now: start), "each session has its own connections")
      #expect(!LinuxConnections.mayExist(session, URL(string: "http://other.example/x"), now: start))
      #expect(!LinuxConnections.mayExist(session, URL(string: "http://kept.example:81/x"), now: start))
      #expect(LinuxConnections.mayExist(session, URL(string: "http://kept.example:80/y?z"), now: start))
      // Each response renews it.
      LinuxConnections.add(session, url, now: start + .seconds(100))
      #expect(LinuxConnections.mayExist(session, url, now: start + .seconds(240)))
    }

    /// Over HTTP/2, a request may share the connection of another that has no response yet.
    @Test func remembersAConnectionWithoutAResponse() async throws {
      let session = URLSession(configuration: .ephemeral)
      let server = try LoopbackServer(script: .hang)
      let request = URLRequest(url: server.url(), timeoutInterval: 0.2)
      _ = try? await session.performNetworkRequest(request, policy: .never)
      #expect(LinuxConnections.mayExist(session, server.url()))
      // One that was never sent has made none.
      let never = try #require(URL(string: "http://127.0.0.1:7/"))
      let ended = NetworkReply()
      ended.cancel()
      let outgoing = NetworkOutgoing(request: URLRequest(url: never))
      NetworkSessionTransport(session: session).start(outgoing, ended)
      #expect(!LinuxConnections.mayExist(session, never))
      let nobody = try #require(URL(string: "http://127.0.0.1:9/"))
      _ = try? await session.performNetworkRequest(nobody, policy: .never)
      #expect(!LinuxConnections.mayExist(session, nobody))
    }

    @Test func remembersManyConnections() throws {
      let session = URLSession(configuration: .ephemeral)
      let start = ContinuousClock.now
      for port in 1...1500 {
        LinuxConnections.add(session, URL(string: "http://m.example:\(port)/"), now: start + .milliseconds(port))
      }
      for port in [1, 500, 999, 1000, 1001, 1002, 1500] {
        #expect(LinuxConnections.mayExist(session, URL(string: "http://m.example:\(port)/"), now: start + .seconds(60)))
      }
    }
  }
#endif
