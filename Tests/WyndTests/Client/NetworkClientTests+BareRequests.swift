import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkClientTests {
  static let base = "https://a.example/v2"

  static func client(
    _ script: NetworkScript, base: String? = base, headers: [String: String] = [:],
    policy: RetryPolicy = RetryPolicy(), middleware: [any NetworkMiddleware] = []
  ) -> NetworkClient {
    var client = NetworkClient(
      baseURL: base.flatMap { URL(string: $0) }, on: script, policy: policy,
      middleware: middleware)
    client.headers = headers
    return client
  }

  // MARK: The address of a bare request

  static let bare: [(base: String, request: String, sent: String?)] = [
    (base, "items", "https://a.example/v2/items"), (base, "/items/", "https://a.example/v2/items/"),
    (base, "/items?q=a%20b&c", "https://a.example/v2/items?q=a%20b&c"), (base, "?q=1", "https://a.example/v2?q=1"),
    (base, "/a%2Fb", "https://a.example/v2/a%2Fb"), (base, "/", "https://a.example/v2/"),
    ("http://a.example:81/", "x", "http://a.example:81/x"), (base, "/../x", nil), (base, "/%2e%2e/x", nil),
    (base, "http://b.example:82/x?q#f", "http://b.example:82/x?q#f"),
  ]
  @Test(arguments: bare) func appendsARequestWithoutAHostToTheBaseURL(_ base: String, _ url: String, _ sent: String?)
    async throws
  {
    let script = NetworkScript([.ok("x")])
    let request = URLRequest(url: try #require(URL(string: url)))
    do throws(NetworkError) {
      _ = try await Self.client(script, base: base).performNetworkRequest(request)
      #expect(script.requests.first?.url?.absoluteString == sent)
    } catch {
      guard case .invalidRequest = error, sent == nil else { Issue.record("\(error)"); return }
      #expect(script.requests.isEmpty)
    }
  }

  /// RFC 3986 §3.3: both are plain characters of a path.
  @Test(arguments: ["/a+b", "/a;v=1"])
  func keepsPlusAndSemicolonInAPath(_ path: String) async throws {
    let script = NetworkScript([.ok("x")])
    let client = Self.client(script)
    _ = try await client.performNetworkRequest(URLRequest(url: try #require(URL(string: path))))
    struct Encoded: Endpoint {
      typealias Response = String
      var path: String { "" }
      var percentEncodedPath: String
    }
    _ = try await client.load(Encoded(percentEncodedPath: path))
    #expect(script.requests.map { $0.url?.absoluteString } == [Self.base + path, Self.base + path])
  }

  // MARK: Header fields

  static let places: [(base: String?, url: String, hasKey: Bool)] = [
    (base, "/items", true), (base, "https://a.example/x", true),
    (base, "https://a.example:8443/", false), (base, "http://a.example/", false), (base, "https://b.example/", false),
    ("http://a.example:81", "http://a.example:81/", true),
    ("http://a.example:81", "http://a.example/", false), (nil, "https://b.example/", true),
  ]
  @Test(arguments: places) func sendsCredentialHeadersOfTheClientToItsOriginOnly(
    _ base: String?, _ url: String, _ hasKey: Bool
  ) async throws {
    let script = NetworkScript([.ok("x")])
    let headers = ["X-Api-Key": "k", "X-Plain": "Bearer t", "Cookie": "a=b", "X-App": "ours"]
    let client = Self.client(script, base: base, headers: headers)
    _ = try await client.performNetworkRequest(URLRequest(url: try #require(URL(string: url))))
    let fields = script.requests.first?.allHTTPHeaderFields ?? [:]
    let keys: [String?] = hasKey ? ["k", "Bearer t", "a=b"] : [nil, nil, nil]
    #expect(["X-Api-Key", "X-Plain", "Cookie"].map { fields[$0] } == keys)
    #expect(fields["X-App"] == "ours")
  }

  @Test func headerOfTheRequestOverridesThatOfTheClientInAnyCase() async throws {
    let script = NetworkScript([.ok("x")])
    var request = URLRequest(url: try #require(URL(string: "/items")))
    request.setValue("own", forHTTPHeaderField: "x-app")
    _ = try await Self.client(script, headers: ["X-App": "ours", "X-Two": "2"]).performNetworkRequest(request)
    let sent = try #require(script.requests.first)
    #expect(["X-App", "X-Two"].map { sent.value(forHTTPHeaderField: $0) } == ["own", "2"])
  }

  /// Header fields, and what the reason names.
  static let invalidHeaders: [(headers: [String: String], named: [String])] = [
    (["X A": "1"], ["name"]), (["": "1"], ["name"]), (["X-A": "a\nb"], ["X-A"]), (["X-A": "a\u{0}"], ["X-A"]),
    // Which of the two would be sent is not known.
    (["X-App": "1", "x-app": "2"], ["X-App", "x-app"]),
  ]
  @Test(arguments: invalidHeaders) func rejectsInvalidHeadersOfTheClient(_ headers: [String: String], _ named: [String])
    async throws
  {
    let script = NetworkScript([.ok("x")])
    do throws(NetworkError) {
      _ = try await Self.client(script, headers: headers).load(Item())
      Issue.record("sent")
    } catch {
      guard case .invalidRequest(let reason) = error else { Issue.record("\(error)"); return }
      #expect(named.allSatisfy { reason.contains($0) }, "\(reason)")
    }
    #expect(script.requests.isEmpty)
  }

  // MARK: Policy of a call

  @Test func acceptsAnEmptyBodyOnlyIfAllowed() async throws {
    let client = Self.client(NetworkScript([.ok("")]))
    let request = URLRequest(url: try #require(URL(string: "/")))
    let error = await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(request) }
    guard case .noResponseData = error else { Issue.record("\(String(describing: error))"); return }
    #expect(try await client.performNetworkRequest(request, allowEmptyData: true).isEmpty)
    for (isAllowed, isError) in [(nil, true), (true, false)] as [(Bool?, Bool)] {
      let result = await handlerValue { end in
        if let isAllowed {
          client.performNetworkRequest(request, allowEmptyData: isAllowed, completionHandler: end)
        } else {
          client.performNetworkRequest(request, completionHandler: end)
        }
      }
      #expect((result.error != nil) == isError)
    }
    #expect(try await client.load(Item()).isEmpty)
  }

  /// As for an endpoint: a part of the base URL that would not be sent is an error.
  @Test(arguments: [
    "https://a.example?key=1", "https://a.example#f", "https://u:p@a.example", "ftp://a.example", "/v2",
  ])
  func rejectsAnUnusableBaseURL(_ base: String) async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(baseURL: URL(string: base), on: script)
    let request = URLRequest(url: try #require(URL(string: "users?page=2")))
    let error = await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(request) }
    guard case .invalidRequest = error else { Issue.record("\(String(describing: error))"); return }
    #expect(script.requests.isEmpty)
  }

  /// Not sent to the base URL, with its credentials.
  @Test func refusesARequestWithAHostButNoScheme() async throws {
    let client = NetworkClient(baseURL: URL(string: "http://127.0.0.1:9/v2"), policy: .never)
    let request = URLRequest(url: try #require(URL(string: "//other.example/a")))
    let error = await #expect(throws: NetworkError.self) { try await client.networkResponse(for: request) }
    guard case .invalidRequest(let reason)? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(reason == "the URL has a host, but no scheme")
  }
}
