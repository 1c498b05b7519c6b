import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// A request that is not safe to repeat reaches the server at most once, even if its connection is lost.
  @Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct LinuxSentOnceTests {
    enum Kind: String, CaseIterable { case empty, body, data, file, stream, streamOfUnknownLength, download, bytes }

    static func session(_ delegate: (any URLSessionDelegate)? = nil) -> URLSession {
      let queue = OperationQueue.serial()
      return URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: queue)
    }

    /// The status of the response, or nil.
    static func send(_ kind: Kind, _ request: URLRequest, _ session: URLSession) async -> Int? {
      let data = Data("order".utf8)
      let folder = try? Folder()
      let file = folder?.file()
      do {
        switch kind {
        case .empty: return try await session.networkResponse(for: request).response.statusCode
        case .body:
          var request = request
          request.httpBody = data
          return try await session.networkResponse(for: request).response.statusCode
        case .data: return try await session.performNetworkUpload(request, from: .data(data)).response.statusCode
        case .file:
          guard let file else { return nil }
          try data.write(to: file)
          return try await session.performNetworkUpload(request, from: .file(file)).response.statusCode
        case .stream:
          let body = RequestBody.stream(length: 5) { InputStream(data: data) }
          return try await session.performNetworkUpload(request, from: body).response.statusCode
        case .streamOfUnknownLength:
          let body = RequestBody.stream { InputStream(data: data) }
          return try await session.performNetworkUpload(request, from: body).response.statusCode
        case .download:
          guard let file else { return nil }
          return try await session.performNetworkDownload(request, to: file).response.statusCode
        case .bytes:
          let bytes = try await session.networkBytes(for: request)
          for try await _ in bytes {}
          return bytes.response.statusCode
        }
      } catch { return nil }
    }

    /// Honors `Connection: close`, as most servers do.
    static func response(to request: LoopbackServer.Request) -> ScriptedResponse {
      request.value("Connection") == "close" ? .status(200, [("Connection", "close")], body: "x") : .ok("x")
    }

    /// Connections are idle, and the one that carries the order is closed after the server has read it.
    @Test(arguments: Kind.allCases, [ScriptedResponse.close, .reset])
    func aPOSTIsSentOnceDespiteIdleConnections(_ kind: Kind, _ end: ScriptedResponse) async throws {
      for method in ["POST", "PATCH", "ORDER"] {
        let server = try LoopbackServer { $0.target == "/order" ? end : Self.response(to: $0) }
        let session = Self.session()
        // Two connections of the same session, and what earlier orders left.
        async let first = session.performNetworkRequest(server.url("/a"))
        async let second = session.performNetworkRequest(server.url("/b"))
        _ = try await (first, second)
        let warm = URLRequest(url: server.url("/warm"), method: method)
        for kind in Kind.allCases { #expect(await Self.send(kind, warm, session) == 200, "\(kind)") }
        #expect(await Self.send(kind, URLRequest(url: server.url("/order"), method: method), session) == nil)
        let orders = server.requests.filter { $0.target == "/order" }
        #expect(orders.count == 1 && orders.first?.indexOnConnection == 0, "\(method) \(orders)")
      }
    }

    /// A server that ignores `Connection: close` may receive header fields again, but no body.
    @Test(arguments: [Kind.body, .data, .file, .stream, .streamOfUnknownLength], [ScriptedResponse.close, .reset])
    func aBodyIsSentOnceToAServerThatKeepsItsConnections(_ kind: Kind, _ end: ScriptedResponse) async throws {
      let server = try LoopbackServer { $0.target == "/order" ? end : .ok("x") }
      let session = Self.session()
      for _ in 0..<3 {
        #expect(await Self.send(kind, URLRequest(url: server.url("/warm"), method: "POST"), session) == 200)
      }
      #expect(await Self.send(kind, URLRequest(url: server.url("/order"), method: "POST"), session) == nil)
      #expect(server.requests.count { $0.target == "/order" && $0.text == "order" } == 1)
    }

    /// The request after a 307 is as unsafe as the first one.
    @Test(arguments: Kind.allCases, [ScriptedResponse.close, .reset])
    func aPOSTAfterARedirectIsSentOnce(_ kind: Kind, _ end: ScriptedResponse) async throws {
      let server = try LoopbackServer { request in
        if request.target == "/order" { return end }
        return .status(307, [("Location", "/order"), ("Connection", "close")])
      }
      let session = Self.session()
      #expect(await Self.send(kind, URLRequest(url: server.url("/hop"), method: "POST"), session) == nil)
      #expect(server.requests.map(\.target) == ["/hop", "/order"])
    }

    /// No more of them run at the same time than the session allows, and all of them end.
    @Test func parallelPOSTsStayWithinTheConnectionLimitOfTheSession() async throws {
      let (running, most) = (Box(0), Box(0))
      let server = try LoopbackServer { request in
        running.update { $0 += 1 }
        most.update { $0 = max($0, running.value ?? 0) }
        usleep(5_000)
        running.update { $0 -= 1 }
        return .ok("x")
      }
      let session = Self.session()
      try await withThrowingTaskGroup { group in
        for _ in 0..<60 {
          group.addTask { try await session.performNetworkRequest(URLRequest(url: server.url(), method: "POST")) }
        }
        try await group.waitForAll()
      }
      #expect(server.requests.count == 60)
      #expect((2...session.configuration.httpMaximumConnectionsPerHost).contains(most.value ?? 0), "\(most.value ?? 0)")
    }

    /// A server that closes each connection after its response, and does not announce it. None of the requests may be sent
    /// on such a connection: it would be lost, or carried out and reported as lost.
    @Test(arguments: [1, 90])
    func noPOSTIsSentOnAConnectionThatTheServerCloses(_ eachAfterAnother: Int) async throws {
      let server = try LoopbackServer { _ in ScriptedResponse(ScriptedResponse.ok("x").steps + [.close]) }
      let session = Self.session()
      let lost = await withTaskGroup(of: Int.self) { group in
        for _ in 0..<(540 / eachAfterAnother) {
          group.addTask {
            var lost = 0
            for _ in 0..<eachAfterAnother {
              let request = URLRequest(url: server.url(), method: "POST", body: "order")
              if await session.result(of: request).error != nil { lost += 1 }
            }
            return lost
          }
        }
        return await group.reduce(0, +)
      }
      #expect(lost == 0 && server.requests.count == 540)
      #expect(server.requests.allSatisfy { $0.indexOnConnection == 0 && $0.value("Connection") == "close" })
    }

    /// A request that was redirected occupies no session any more, so later ones do not wait for one.
    @Test func redirectedPOSTsDoNotDelayLaterOnes() async throws {
      let server = try LoopbackServer { $0.target == "/hop" ? .redirect(307, to: "/order") : .ok("x") }
      let session = Self.session()
      var request = URLRequest(url: server.url("/hop"), method: "POST", body: "order")
      request.timeoutInterval = 20
      let more = session.configuration.httpMaximumConnectionsPerHost + 1
      for _ in 0..<more { _ = try await session.performNetworkRequest(request, policy: .never) }
      #expect(server.requests.count { $0.target == "/order" } == more)
    }

    /// A POST that only reads may be repeated, so it needs no connection of its own.
    @Test func aPOSTThatOnlyReadsKeepsItsConnection() async throws {
      let server = try LoopbackServer(script: .ok("x"))
      let session = Self.session()
      let client = NetworkClient(on: session, middleware: [.around { request, next in try await next(request) }])
      let search = URLRequest(url: server.url(), method: "POST", body: "search").declared(isReadOnly: true)
      for performer in [session, session, client, client] as [any NetworkPerformer] {
        _ = try await performer.networkData(for: search)
      }
      #expect(server.requests.map(\.indexOnConnection) == [0, 1, 2, 3])
      #expect(server.requests.allSatisfy { $0.value("Connection") != "close" })
    }

    /// A canceled request that waits is not sent, and the others are not affected.
    @Test func aPOSTThatWaitsCanBeCanceled() async throws {
      let gate = Gate()
      let server = try LoopbackServer { request in
        if request.target == "/slow" { return .hang }
        return .ok("x")
      }
      let session = Self.session()
      let slow = (0..<6).map { _ in
        Task { try await session.performNetworkRequest(URLRequest(url: server.url("/slow"), method: "POST")) }
      }
      await until { server.openRequests == 6 }
      let canceled = Task {
        gate.open()
        return await session.result(of: URLRequest(url: server.url("/canceled"), method: "POST"))
      }
      let waiting = Task {
        try await session.performNetworkRequest(URLRequest(url: server.url("/waiting"), method: "POST"))
      }
      await gate.wait()
      canceled.cancel()
      #expect(await canceled.value.error?.isCancelled == true)
      for task in slow { task.cancel() }
      #expect(try await waiting.value == Data("x".utf8))
      #expect(!server.requests.contains { $0.target == "/canceled" })
    }

    /// A canceled one gives its place to nobody, because it had none.
    @Test func waitingPOSTsAreSentInTheirOrder() async throws {
      let server = try LoopbackServer { $0.target == "/get" ? .ok("x") : .hang }
      let session = URLSession.ephemeral { $0.httpMaximumConnectionsPerHost = 1 }
      let tasks = (0..<4).map { number in
        session.performNetworkRequest(URLRequest(url: server.url("/\(number)"), method: "POST")) { _ in }
      }
      await until { server.openRequests == 1 }
      tasks[1].cancel()
      // What a place that was given away wrongly would have sent is there before the responses to these.
      let other = Self.session()
      for _ in 0..<20 { _ = try await other.performNetworkRequest(server.url("/get")) }
      @Sendable func orders() -> [String] { server.requests.map(\.target).filter { $0 != "/get" } }
      #expect(orders() == ["/0"])
      tasks[0].cancel()
      await until { orders().count == 2 }
      tasks[2].cancel()
      await until { orders().count == 3 }
      tasks[3].cancel()
      #expect(orders() == ["/0", "/2", "/3"])
    }

    /// URLSession itself makes connections then, too.
    @Test func aSessionWithoutConnectionsSendsPOSTs() async throws {
      let server = try LoopbackServer(script: .ok("x"))
      let session = URLSession.ephemeral { $0.httpMaximumConnectionsPerHost = 0 }
      let request = URLRequest(url: server.url(), method: "POST")
      #expect(try await session.performNetworkRequest(request, policy: RetryPolicy(deadline: .seconds(60))).text == "x")
    }

    /// The body of a canceled request does not stay in memory until it would have been sent.
    @Test func aCanceledPOSTThatWaitedIsReleased() async throws {
      let server = try LoopbackServer(script: .hang)
      let session = Self.session()
      for _ in 0..<6 {
        session.performNetworkRequest(URLRequest(url: server.url(), method: "POST")) { _ in }
      }
      await until { server.openRequests == 6 }
      let released = Counter()
      do {
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: 10_000, alignment: 1)
        bytes.initializeMemory(as: UInt8.self, repeating: 0, count: 10_000)
        var request = URLRequest(url: server.url(), method: "POST")
        request.httpBody = Data(
          bytesNoCopy: bytes, count: 10_000,
          deallocator: .custom { bytes, _ in
            bytes.deallocate()
            released.add()
          })
        session.performNetworkRequest(request) { _ in }.cancel()
      }
      await released.reaches(1)
      #expect(server.openRequests == 6)
    }

    /// Long responses do not keep others waiting.
    @Test func openStreamsDoNotDelayAPOST() async throws {
      let server = try LoopbackServer { $0.target == "/stream" ? .stall : .ok("x") }
      let session = Self.session()
      var streams: [NetworkBytes] = []
      for _ in 0..<6 {
        streams.append(try await session.networkBytes(for: URLRequest(url: server.url("/stream"), method: "POST")))
      }
      // After 60 s without data, the streams would end.
      let data = try await session.performNetworkRequest(
        URLRequest(url: server.url("/order"), method: "POST"), policy: RetryPolicy(deadline: .seconds(30)))
      #expect(data == Data("x".utf8) && streams.count == 6)
    }

    // MARK: The caller's session

    @Test func aPOSTSendsCookiesAndHeadersOfItsSession() async throws {
      let server = try LoopbackServer { request in
        .status(200, [("Set-Cookie", "from=\(request.target.dropFirst()); Path=/")], body: "x")
      }
      let session = URLSession.ephemeral {
        $0.httpAdditionalHeaders = ["X-App": "ours", "content-type": "application/json"]
      }
      for path in ["/get", "/post", "/last"] {
        var request = URLRequest(url: server.url(path), method: path == "/post" ? "POST" : "GET")
        if path == "/post" { request.httpBody = Data("{}".utf8) }
        _ = try await session.performNetworkRequest(request)
      }
      #expect(server.values(of: "Cookie") == [nil, "from=get", "from=post"])
      #expect(server.requests.allSatisfy { $0.value("X-App") == "ours" })
      let types = server.requests[1].headers.filter { $0.name.lowercased() == "content-type" }.map(\.value)
      #expect(types == ["application/json"])
    }
  }
#endif
