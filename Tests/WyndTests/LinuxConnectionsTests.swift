#if canImport(FoundationNetworking)
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
  }
#endif
