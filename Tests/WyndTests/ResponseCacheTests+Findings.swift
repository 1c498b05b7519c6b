import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What RFC 9111 and Foundation say.
extension ResponseCacheTests {
  @Test func fieldsThatConnectionNamesAreNotServed() async throws {
    let fields = [
      "Cache-Control": "max-age=600", "Connection": "keep-alive, X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=5",
      "X-Total": "7",
    ]
    let world = World([.ok("one", headers: fields)])
    _ = try await world.get()
    let head = try await world.head()
    #expect(["Connection", "X-Hop", "Keep-Alive"].compactMap { head.value(forHTTPHeaderField: $0) } == [])
    #expect(head.value(forHTTPHeaderField: "X-Total") == "7")
  }

  @Test func quotedTextInConnectionNamesNoField() async throws {
    let fields = [
      "Cache-Control": "max-age=600", "Connection": "\"a, X-Total, b\",\tX-Hop ,,", "X-Hop": "1", "X-Total": "7",
    ]
    let world = World([.ok("one", headers: fields)])
    _ = try await world.get()
    let head = try await world.head()
    #expect(["X-Hop", "X-Total"].map { head.value(forHTTPHeaderField: $0) } == [nil, "7"])
  }

  @Test func aStoredResponseCarriesItsAge() async throws {
    for (age, least) in [(nil, 100), ("20", 120)] {
      var fields = ["Cache-Control": "max-age=600"]
      fields["Age"] = age
      let world = World([.ok("one", headers: fields)])
      _ = try await world.get()
      let got = try await world.head(after: 100).value(forHTTPHeaderField: "Age").flatMap { Int($0) }
      #expect((least...least + 60).contains(try #require(got)))
    }
  }

  /// RFC 9111 §5.1: a response with an Age was not validated for this request.
  @Test func aRevalidatedResponseHasNoAge() async throws {
    let world = World([.ok("one", headers: Self.tagged), .status(304)])
    _ = try await world.get()
    #expect(try await world.head(after: 100).value(forHTTPHeaderField: "Age") == nil)
  }

  @Test func aResponseThatWasOldWhenItCameIsNotFresh() async throws {
    let fields = ["Cache-Control": "max-age=60", "Date": Self.date(-100), "ETag": "\"1\""]
    let world = World([.ok("one", headers: fields), .ok("two")])
    _ = try await world.get()
    #expect(try await world.get() == ("two", .network))
  }

  @Test func theLengthOfAStoredResponseIsServed() async throws {
    let world = World([.ok("one", headers: ["Cache-Control": "max-age=60", "Content-Length": "3"])])
    _ = try await world.get()
    #expect(try await world.head().value(forHTTPHeaderField: "Content-Length") == "3")
  }

  @Test func aRequestWithMaxAgeZeroAsksTheServer() async throws {
    let world = World([.ok("one", headers: Self.fresh), .status(304)])
    _ = try await world.get()
    #expect(try await world.get(["Cache-Control": "max-age=60"], after: 30) == ("one", .cache))
    #expect(try await world.get(["Cache-Control": "max-age=20"]) == ("one", .revalidated))
    #expect(try await world.get(["Cache-Control": "max-age=0"]) == ("one", .revalidated))
  }

  @Test func theLengthOfADecodedBodyIsNotServed() async throws {
    let world = World([.ok("one", headers: ["Cache-Control": "max-age=60", "Content-Length": "23"])])
    _ = try await world.get()
    #expect(try await world.head().value(forHTTPHeaderField: "Content-Length") == nil)
  }

  /// As Foundation documents it: the policy, what is stored, and what comes of it; nil is an error without a request.
  static let policies: [(policy: URLRequest.CachePolicy, stored: [String: String]?, text: String?, sends: Int)] = [
    (.useProtocolCachePolicy, fresh, "old", 0), (.useProtocolCachePolicy, tagged, "new", 1),
    (.useProtocolCachePolicy, nil, "new", 1), (.reloadIgnoringLocalCacheData, fresh, "new", 1),
    (.reloadIgnoringLocalAndRemoteCacheData, fresh, "new", 1), (.returnCacheDataElseLoad, fresh, "old", 0),
    (.returnCacheDataElseLoad, tagged, "old", 0), (.returnCacheDataElseLoad, nil, "new", 1),
    (.returnCacheDataDontLoad, fresh, "old", 0), (.returnCacheDataDontLoad, tagged, "old", 0),
    (.returnCacheDataDontLoad, nil, nil, 0), (.reloadRevalidatingCacheData, fresh, "new", 1),
    (.reloadRevalidatingCacheData, nil, "new", 1),
  ]
  @Test(arguments: policies.indices)
  func theCachePolicyOfARequestIsRespected(_ row: Int) async throws {
    let (policy, stored, text, sends) = Self.policies[row]
    let world = World(
      stored.map { [.ok("old", headers: $0), .ok("new", headers: $0)] } ?? [.ok("new", headers: Self.fresh)])
    if stored != nil { _ = try await world.get() }
    let before = world.script.requests.count
    var request = try Self.request()
    request.cachePolicy = policy
    #expect((try? await world.response(request))?.text == text)
    #expect(world.script.requests.count - before == sends)
  }

  @Test(arguments: ["GET", "POST"]) func aRequestThatMayNotLoadFailsAsInFoundation(_ method: String) async throws {
    let world = World([.ok("sent")])
    var request = try Self.request(method: method)
    request.cachePolicy = .returnCacheDataDontLoad
    let error = await #expect(throws: NetworkError.self) { try await world.response(request) }
    #expect(error?.urlError?.code == .resourceUnavailable)
    #expect(world.script.requests.isEmpty)
  }

  /// Offline with something usable stored: one attempt is enough to know.
  @Test(arguments: [Step.failure(.notConnectedToInternet), .status(503), .silence])
  func whatIsStoredIsServedAfterOneAttempt(_ failure: Step) async throws {
    let world = World([.ok("old", headers: Self.tagged), failure], stale: true, policy: RetryPolicy())
    _ = try await world.get()
    #expect(try await world.get() == ("old", .cache))
    #expect(world.script.requests.count == 2)
  }

  @Test(arguments: ["must-revalidate", "no-cache"])
  func aCallIsRetriedIfTheStoredResponseMayNotBeServed(_ control: String) async throws {
    let fields = ["ETag": "\"1\"", "Cache-Control": control]
    let world = World([.ok("old", headers: fields), .dropped, .ok("new")], stale: true, policy: RetryPolicy())
    _ = try await world.get()
    #expect(try await world.get() == ("new", .network))
  }

  @Test func aCallIsRetriedIfStaleResponsesAreNotWanted() async throws {
    let world = World([.ok("old", headers: Self.tagged), .dropped, .status(304)], policy: RetryPolicy())
    _ = try await world.get()
    #expect(try await world.get() == ("old", .revalidated))
  }

  @Test func aStaleResponseTellsWhyTheServerCouldNotBeAsked() async throws {
    let world = World(
      [.ok("old", headers: Self.tagged), .status(304), .status(503), .ok("new", headers: Self.fresh)], stale: true)
    for status in [nil, nil, 503, nil] {
      #expect(try await world.client.loadResponse(Text()).revalidationError?.statusCode == status)
    }
    // The last one is fresh, and served without a request.
    let response = try await world.client.networkResponse(for: try Self.request())
    #expect(response.source == .cache && response.revalidationError == nil)
  }

  @Test func aStaleResponseOfOneUserIsNotServedAfterAnotherSignIn() async throws {
    let authentication = try Self.authentication("ann")
    let script = NetworkScript { _, number in
      if number == 1 { authentication.credential = BearerToken("bob") }
      return number == 0 ? .ok("ann's", headers: Self.tagged) : .dropped
    }
    let world = World(script, stale: true, attempt: [authentication])
    #expect(try await world.get().text == "ann's")
    await #expect(throws: NetworkError.self) { try await world.get() }
  }

  @Test func withNothingStoredACallIsRetried() async throws {
    let world = World([.dropped, .dropped, .ok("new", headers: Self.tagged)], stale: true, policy: RetryPolicy())
    #expect(try await world.get() == ("new", .network))
  }

  @Test func theValuesOfAnEndpointTellThatTheServerCannotBeReached() async throws {
    let world = World([.ok("old", headers: Self.tagged), .dropped], stale: true)
    _ = try await world.get()
    var got: [String] = []
    await #expect(throws: NetworkError.self) {
      for try await value in world.client.values(of: Text()) { got.append(value.value) }
    }
    #expect(got == ["old"])
  }

  @Test func aFileWithChangedBytesIsNotServed() async throws {
    let folder = try Folder()
    let body = String(repeating: "abc ", count: 100)
    let world = World([.ok(body, headers: Self.fresh)], store: try DiskStore(folder.url))
    _ = try await world.get()
    let file = folder.file(try #require(folder.names.first))
    let whole = try Data(contentsOf: file)
    for index in stride(from: 0, to: whole.count, by: 11) {
      var broken = whole
      broken[index] ^= 0x01
      try broken.write(to: file)
      let other = World([.ok("sent")], store: try DiskStore(folder.url))
      #expect(try await other.get() == ("sent", .network), "\(index)")
      for name in folder.names { try FileManager.default.removeItem(at: folder.file(name)) }
    }
  }
}
