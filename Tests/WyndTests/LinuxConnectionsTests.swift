#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import Wynd

  /// Whether two addresses may share a connection: taking one for two could send an order twice.
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

    @Test func whatSharesAConnectionIsOnePlaceAndNothingElse() throws {
      func hash(_ text: String) -> UInt64 { LinuxConnections.Place.hash(text) }
      for row in Self.same { for text in row { #expect(hash(text) == hash(row[0]), "\(text)") } }
      // http and https of a host may be taken for one another; these are not.
      #expect(Set(Self.same.map { hash($0[0]) }).count == Self.same.count)
    }

    /// libcurl keeps an idle connection for 118 s. Seconds since the last response → may it still be there?
    @Test func aConnectionIsRememberedForAsLongAsItMayBeUsedAgain() throws {
      let connections = LinuxConnections()
      let (session, other) = (URLSession(configuration: .ephemeral), URLSession(configuration: .ephemeral))
      let url = URL(string: "http://a.example/x")
      let start = DispatchTime.now()
      #expect(!connections.mayHold(session, url, now: start))
      connections.add(session, url, now: start)
      for (seconds, mayHold) in [
        (0, true), (15, true), (60, true), (118, true), (149, true), (151, false), (600, false),
      ] {
        #expect(connections.mayHold(session, url, now: start + .seconds(seconds)) == mayHold, "\(seconds)")
      }
      #expect(!connections.mayHold(other, url, now: start), "each session has its own connections")
      #expect(!connections.mayHold(session, URL(string: "http://b.example/x"), now: start))
      #expect(!connections.mayHold(session, URL(string: "http://a.example:81/x"), now: start))
      #expect(connections.mayHold(session, URL(string: "http://a.example:80/y?z"), now: start))
      // Each response renews it.
      connections.add(session, url, now: start + .seconds(100))
      #expect(connections.mayHold(session, url, now: start + .seconds(240)))
    }

    @Test func nothingFreshIsForgottenWhenThereAreMany() throws {
      let connections = LinuxConnections()
      let session = URLSession(configuration: .ephemeral)
      let start = DispatchTime.now()
      for port in 1...1500 {
        connections.add(session, URL(string: "http://a.example:\(port)/"), now: start + .milliseconds(port))
      }
      for port in [1, 500, 999, 1000, 1001, 1002, 1500] {
        #expect(connections.mayHold(session, URL(string: "http://a.example:\(port)/"), now: start + .seconds(60)))
      }
    }
  }
#endif
