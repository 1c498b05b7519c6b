import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A host that cannot be a name or an address is rejected before anything is sent.
@Suite struct EndpointHostTests {
  struct Page: Endpoint {
    typealias Response = Data
    let host: String
    let path = "/"
  }

  static let malformed = [
    // IPv6
    "[0:0:]", "[::1.]", "0:1:2:3:4:5:6:7:8", "1::2::3",
    "::00001", "12345::", "::ffff:1.2.3.456", "::01.2.3.4", "[a:b]", "[[::1]]", "[::1", "[]", "[v1.fe]", "[1.2.3.4]",
    "[::1]:80",
    "[example.com]", "::1\u{0}", " ::1", "::1/64",
    // A zone
    "fe80::1%eth0", "[fe80::1%25eth0]",
    // IPv4
    "256.1.1.1", "1.2.3", "0", "2130706433", "0x7f.1", "1.2.3.4.5", "01.2.3.4", "127.0.0.1.", "a.0x1", "1.2.3.4:80",
    "1..2", "１.２.３", "a..", ".example",
  ]

  @Test(arguments: malformed) func rejectsInvalidHosts(_ host: String) async {
    let script = NetworkScript([.ok("x")])
    func reason(_ body: () async throws -> Void) async -> String? {
      do { try await body() } catch NetworkError.invalidRequest(let reason) { return reason } catch {
        Issue.record("\(error)")
      }
      return nil
    }
    #expect(await reason { _ = try await NetworkClient(on: script).load(Page(host: host)) }?.isEmpty == false)
    #expect(await reason { _ = try Page(host: host).url }?.isEmpty == false)
    #expect(script.requests.isEmpty)
  }

  static let valid: [(host: String, url: String)] = [
    ("::1", "https://[::1]/"), ("[::1]", "https://[::1]/"), ("::", "https://[::]/"), ("fe80::1", "https://[fe80::1]/"),
    ("::ffff:1.2.3.4", "https://[::ffff:1.2.3.4]/"), ("[::ffff:1.2.3.4]", "https://[::ffff:1.2.3.4]/"),
    ("0:1:2:3:4:5:6:7", "https://[0:1:2:3:4:5:6:7]/"), ("2001:DB8::A", "https://[2001:DB8::A]/"),
    ("1.2.3.4", "https://1.2.3.4/"), ("0.0.0.0", "https://0.0.0.0/"), ("255.255.255.255", "https://255.255.255.255/"),
    ("1.2.3.4a", "https://1.2.3.4a/"), ("1.example", "https://1.example/"), ("0x1g", "https://0x1g/"),
    ("1.2.3.4.example.", "https://1.2.3.4.example./"), ("3com", "https://3com/"), ("x0x1", "https://x0x1/"),
  ]

  @Test(arguments: valid) func acceptsHostNamesAndIPAddresses(_ host: String, _ url: String) async throws {
    let script = NetworkScript([.ok("x")])
    _ = try await NetworkClient(on: script).load(Page(host: host))
    let client = NetworkClient(baseURL: try Page(host: host).url, on: script)
    _ = try await client.load(.get("/", as: Data.self))
    #expect(script.requests.map { $0.url?.absoluteString } == [url, url])
  }

  @Test func errorSaysWhyAHostIsInvalid() {
    let rows = [
      ("[0:0:]", "IPv6"), ("::1.", "IPv6"), ("[fe80::1%eth0]", "zone"), ("256.1.1.1", "IPv4"), ("1.2.3", "IPv4"),
      ("https://[::1]", "scheme"), ("[", "not a name"),
    ]
    for (host, part) in rows {
      let error = #expect(throws: NetworkError.self) { try Page(host: host).url }
      #expect(error?.description.contains(part) == true, "\(String(describing: error))")
    }
  }
}
