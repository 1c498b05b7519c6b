import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseCacheTests {
  static let fresh = ["Cache-Control": "max-age=600", "ETag": "\"1\""]

  // MARK: What is served

  @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "QUERY"])
  func onlyGETIsServedFromTheStore(_ method: String) async throws {
    let world = World([.ok("stored", headers: Self.fresh), .ok("sent", headers: Self.fresh), .ok("third")])
    _ = try await world.get()
    #expect(try await world.get(method: method) == ("sent", .network))
    let asked = try #require(world.script.requests.last)
    #expect(asked.httpMethod == method && asked.value(forHTTPHeaderField: "If-None-Match") == nil)
    // A method that changes nothing leaves what is stored; no method but GET stores its response.
    let isSafe = ["HEAD", "OPTIONS", "QUERY"].contains(method)
    #expect(try await world.get().text == (isSafe ? "stored" : "third"))
  }

  @Test func aResponseToAnotherMethodIsNotStored() async throws {
    for method in ["POST", "HEAD"] {
      let world = World([.ok("one", headers: Self.fresh), .ok("two")])
      _ = try await world.get(method: method)
      #expect(try await world.get() == ("two", .network))
    }
  }

  @Test func aChangeLeavesWhatIsStoredForOtherAddresses() async throws {
    let world = World([.ok("stored", headers: Self.fresh), .ok("sent")])
    for path in ["/a", "/a?page=2"] { _ = try await world.get(path: path) }
    _ = try await world.get(path: "/a/1", method: "DELETE")
    #expect(try await world.get(path: "/a").source == .cache)
    #expect(world.script.requests.count == 3)
  }

  @Test func eachAddressHasItsOwnResponse() async throws {
    let script = NetworkScript { request, _ in .ok(request.url?.absoluteString ?? "", headers: Self.fresh) }
    let world = World(script)
    let addresses = [
      "https://a.example/", "https://a.example/a", "https://a.example/?q=1", "https://a.example/?q=2",
      "https://a.example:8443/", "http://a.example/", "https://b.example/",
    ]
    for source in [NetworkResponse.Source.network, .cache] {
      for address in addresses {
        let request = URLRequest(url: try #require(URL(string: address)))
        #expect(try await world.response(request) == (address, source))
      }
    }
  }

  static let conditions = [
    "Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range",
  ]
  @Test(arguments: conditions) func aRequestWithAConditionOfItsOwnPassesUnchanged(_ field: String) async throws {
    let world = World([
      .ok("stored", headers: Self.fresh), .ok("own", headers: ["Cache-Control": "max-age=600", "ETag": "\"2\""]),
    ])
    _ = try await world.get()
    #expect(try await world.get([field: "\"x\""]) == ("own", .network))
    let fields = try #require(world.script.requests.last?.allHTTPHeaderFields)
    #expect(fields == [field: "\"x\""])
    // Neither stored nor a reason to forget what is.
    #expect(try await world.get() == ("stored", .cache))
  }

  @Test func aGETWithABodyIsNotServedFromTheStore() async throws {
    let world = World([.ok("stored", headers: Self.fresh), .ok("sent")])
    _ = try await world.get()
    var request = try Self.request()
    request.httpBody = Data("query".utf8)
    #expect(try await world.response(request) == ("sent", .network))
    request.httpBody = nil
    request.httpBodyStream = InputStream(data: Data("query".utf8))
    #expect(try await world.response(request) == ("sent", .network))
    #expect(try await world.get() == ("stored", .cache))
  }

  @Test func theFieldsOfTheServerAreServedExceptThoseOfOneConnectionOrOneUser() async throws {
    let fields = [
      "Cache-Control": "max-age=600", "X-Total": "7", "Content-Type": "text/plain", "Set-Cookie": "a=secret",
      "Content-Encoding": "gzip", "Transfer-Encoding": "chunked",
    ]
    let world = World([.ok("one", headers: fields)])
    _ = try await world.get()
    let head = try await world.head()
    #expect(head.statusCode == 200 && head.url == URL(string: "https://a.example/"))
    #expect(["X-Total", "Content-Type"].map { head.value(forHTTPHeaderField: $0) } == ["7", "text/plain"])
    for name in ["Set-Cookie", "Content-Encoding", "Transfer-Encoding"] {
      #expect(head.value(forHTTPHeaderField: name) == nil, "\(name)")
    }
  }

  // MARK: What is stored

  @Test(arguments: [201, 202, 206, 500]) func anotherStatusThan200IsNotStored(_ status: Int) async throws {
    let world = World([.status(status, "one", headers: Self.fresh), .ok("two")])
    _ = try? await world.get()
    #expect(try await world.get() == ("two", .network))
  }

  @Test func anErrorLeavesWhatIsStored() async throws {
    let world = World([.ok("old", headers: Self.tagged), .status(500), .dropped, .status(304)])
    _ = try await world.get()
    for _ in 0..<2 { await #expect(throws: NetworkError.self) { try await world.get() } }
    #expect(try await world.get() == ("old", .revalidated))
  }

  static let notStored: [[String: String]] = [["Cache-Control": "no-store"], [:], ["ETag": "\"2\"", "Vary": "*"]]
  @Test(arguments: notStored) func aNewResponseThatIsNotStoredEndsTheOldOne(_ fields: [String: String]) async throws {
    let world = World([.ok("old", headers: Self.tagged), .ok("new", headers: fields), .ok("newer")])
    for _ in 0..<2 { _ = try await world.get() }
    #expect(try await world.get() == ("newer", .network))
    #expect(world.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == nil)
  }

  @Test func aResponseNeedsNoLifetimeIfItHasOneValidator() async throws {
    for (field, question) in [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")] {
      let value = Self.tagged[field] ?? ""
      let world = World([.ok("one", headers: [field: value]), .status(304)])
      _ = try await world.get()
      #expect(try await world.get() == ("one", .revalidated))
      #expect(world.script.requests.last?.allHTTPHeaderFields == [question: value])
    }
  }

  // MARK: Asking

  @Test func theCacheOfTheSessionDoesNotAnswerForTheServer() async throws {
    let world = World([.ok("one", headers: Self.tagged), .status(304)])
    for _ in 0..<2 { _ = try await world.get() }
    #expect(world.script.requests.allSatisfy { $0.cachePolicy == .reloadIgnoringLocalCacheData })
  }

  @Test(arguments: [URLRequest.CachePolicy.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData])
  func aReloadIgnoresWhatIsStored(_ policy: URLRequest.CachePolicy) async throws {
    let world = World([.ok("one", headers: Self.fresh), .ok("two", headers: Self.fresh)])
    _ = try await world.get()
    var request = try Self.request()
    request.cachePolicy = policy
    #expect(try await world.response(request) == ("two", .network))
    #expect(world.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == nil)
    #expect(try await world.get() == ("two", .cache))
  }

  @Test func theFieldsOfThe304AreTheOnesThatCount() async throws {
    let old = ["ETag": "\"1\"", "X-Total": "1", "X-Old": "old", "Content-Type": "text/plain", "Age": "100"]
    let new = [
      "ETag": "\"2\"", "X-Total": "2", "Content-Type": "text/html", "Content-Encoding": "br", "Set-Cookie": "a=b",
      "Cache-Control": "max-age=60",
    ]
    let world = World([.ok("one", headers: old), .status(304, headers: new), .status(304)])
    _ = try await world.get()
    for (source, seconds) in [(NetworkResponse.Source.revalidated, 100.0), (.cache, 0)] {
      let head = try await world.head(after: seconds)
      let got = ["ETag", "X-Total", "X-Old", "Content-Type", "Content-Encoding", "Set-Cookie"].map {
        head.value(forHTTPHeaderField: $0)
      }
      #expect(got == ["\"2\"", "2", "old", "text/plain", nil, nil], "\(source)")
    }
    // Fresh from the 304 on, and then asked for by the new tag.
    #expect(try await world.get(after: 20).source == .cache)
    #expect(try await world.get(after: 40) == ("one", .revalidated))
    #expect(world.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == "\"2\"")
  }

  @Test func a304ThatForbidsStoringIsServedOnce() async throws {
    let world = World([
      .ok("one", headers: Self.tagged), .status(304, headers: ["Cache-Control": "no-store"]), .ok("two"),
    ])
    _ = try await world.get()
    #expect(try await world.get() == ("one", .revalidated))
    #expect(try await world.get() == ("two", .network))
    #expect(world.script.requests.last?.allHTTPHeaderFields ?? [:] == [:])
  }

  /// RFC 9111 §3.2 leaves out four of the fields that begin with Content-.
  @Test func a304ReplacesOtherContentFields() async throws {
    let world = World([
      .ok("one", headers: ["ETag": "\"1\"", "Content-Language": "de"]),
      .status(304, headers: ["ETag": "\"1\"", "Content-Language": "fr", "Content-Range": "bytes 0-1/3"]),
    ])
    _ = try await world.get()
    let head = try await world.head()
    #expect(["Content-Language", "Content-Range"].map { head.value(forHTTPHeaderField: $0) } == ["fr", nil])
  }
}
