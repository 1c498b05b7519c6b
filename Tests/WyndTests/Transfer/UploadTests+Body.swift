import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension UploadTests {
  // MARK: The length

  #if canImport(FoundationNetworking)
    /// The server would wait for the rest until the time-out.
    @Test func failsAtOnceIfAStreamIsShorterThanItsLength() async throws {
      let server = try LoopbackServer(script: .ok("x"))
      var request = URLRequest(url: server.url("/up"), method: "PUT")
      request.timeoutInterval = 20
      let body = RequestBody.stream(length: 1_000) { InputStream(data: Data(count: 10)) }
      let began = ContinuousClock.now
      let error = await #expect(throws: NetworkError.self) {
        try await session.performNetworkUpload(request, from: body)
      }
      #expect(error?.urlError?.code == .requestBodyStreamExhausted && ContinuousClock.now - began < .seconds(15))
      #expect(server.requests.count <= 1 && server.requests.allSatisfy { !$0.isComplete })
    }

    /// A stream of the app that fails after some bytes, and has no error of its own.
    final class FailingStream: InputStream {
      private let isFailing = Box(false)
      override var streamStatus: Status { isFailing.value == true ? .error : .open }
      override func open() {}
      override func close() {}
      override var hasBytesAvailable: Bool { true }
      override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        if isFailing.value == true { return -1 }
        isFailing.value = true
        return min(500, maxLength)
      }
    }

    /// It is no failure of the server, and no other attempt would be better.
    @Test(arguments: [nil, 1_000]) func reportsTheErrorOfAStreamOnce(_ length: Int64?) async throws {
      let missing = URL(fileURLWithPath: "/nowhere/file")
      let folder = try Folder()
      let bodies: [(RequestBody, POSIXErrorCode?)] = [
        (.stream(length: length) { try #require(InputStream(url: missing)) }, .ENOENT),
        (.stream(length: length) { try #require(InputStream(url: folder.url)) }, .EISDIR),
        (.stream(length: length) { FailingStream(data: Data()) }, nil),
      ]
      for (body, expected) in bodies {
        let server = try LoopbackServer(script: .ok("x"))
        for method in ["PUT", "POST"] {
          let error = await #expect(throws: NetworkError.self) {
            try await session.performNetworkUpload(URLRequest(url: server.url(), method: method), from: body)
          }
          if let expected {
            guard case .generalError(let own)? = error else { Issue.record("\(error as Any)"); continue }
            #expect((own as NSError).code == Int(expected.rawValue))
          } else {
            #expect(error?.urlError?.code == .requestBodyStreamExhausted)
            #expect(error?.localizedDescription.contains("could not be read") == true)
          }
          #expect(error?.shouldRetry == false && error?.attempts.count ?? 0 <= 1)
        }
        #expect(server.requests.allSatisfy { !$0.isComplete })
        // The origin is not taken for failing.
        #expect(try await session.performNetworkRequest(server.url()) == Data("x".utf8))
      }
    }
  #endif

  /// With a wrong length the server would read the rest as the next request.
  @Test(arguments: ["Content-Length", "content-length", "Transfer-Encoding"])
  func sendsTheLengthOfTheBodyInsteadOfThatOfTheRequest(_ field: String) async throws {
    let (folder, bodies) = try Self.bodies()
    for (name, body) in bodies {
      let server = try LoopbackServer { _ in .ok() }
      let value = field == "Transfer-Encoding" ? "chunked" : "3"
      _ = try await upload(server.url(), from: body, [field: value]).get()
      _ = try await upload(server.url(), from: body, [field: value]).get()
      #expect(server.requests.map { $0.body == Self.bytes } == [true, true], "\(name)")
      for request in server.requests {
        let isChunked = request.value("Transfer-Encoding") != nil
        #expect(isChunked == (name == "stream") && isChunked == (request.value("Content-Length") == nil), "\(name)")
      }
    }
    _ = folder
  }

  @Test func sendsContentLengthZeroForAnEmptyBody() async throws {
    let folder = try Folder()
    try Data().write(to: folder.file())
    let bodies: [RequestBody] = [
      .data(Data()), .file(folder.file()), .stream(length: 0) { InputStream(data: Data()) },
    ]
    for (index, body) in bodies.enumerated() {
      let server = try LoopbackServer { _ in .ok() }
      _ = try await upload(server.url(), from: body).get()
      let request = try #require(server.requests.first)
      #expect(request.value("Content-Length") == "0" && request.body.isEmpty && request.method == "PUT", "\(index)")
      #expect(request.value("Transfer-Encoding") == nil, "\(index)")
    }
  }

  @Test(arguments: [("GET", "PUT"), ("PUT", "PUT"), ("POST", "POST"), ("PATCH", "PATCH"), ("DELETE", "DELETE")])
  func changesOnlyGETToPUT(_ method: String, _ sent: String) async throws {
    let server = try LoopbackServer { _ in .ok() }
    _ = try await upload(server.url(), method, from: .data(Data("x".utf8)), ["Content-Type": "a/b", "X-One": "1"]).get()
    let request = try #require(server.requests.first)
    #expect(request.method == sent && request.text == "x")
    #expect(request.value("Content-Type") == "a/b" && request.value("X-One") == "1")
  }

  // MARK: More than one attempt

  @Test func createsABodyStreamForEachSend() async throws {
    let made = Counter()
    let body = RequestBody.stream(length: 3) {
      made.add()
      return InputStream(data: Data("abc".utf8))
    }
    let server = try LoopbackServer { request in
      if request.target == "/there" { return .ok() }
      return request.index == 0 ? .status(503) : .redirect(request.target == "/307" ? 307 : 303, to: "/there")
    }
    _ = try await upload(server.url("/307"), from: body).get()
    #expect(made.value == 3 && server.requests.map(\.text) == ["abc", "abc", "abc"])
    // A redirect that turns it into a GET sends none.
    _ = try await upload(server.url("/303"), "POST", from: body).get()
    #expect(made.value == 4 && server.requests.map(\.text).suffix(2) == ["abc", ""])
  }

  /// A body that cannot be created again fails the call instead of being sent incomplete.
  @Test func failsWhenTheBodyCannotBeCreatedAgain() async throws {
    struct Gone: Error {}
    let made = Counter()
    let server = try LoopbackServer { _ in .status(503) }
    let stream = RequestBody.stream {
      if made.add() > 1 { throw Gone() }
      return InputStream(data: Data("abc".utf8))
    }
    guard case .failure(.generalError(is Gone)) = await upload(server.url(), from: stream) else {
      Issue.record("sent again")
      return
    }
    #expect(server.requests.count == 1)
    let folder = try Folder()
    try Data("abc".utf8).write(to: folder.file())
    let other = try LoopbackServer { _ in
      try? FileManager.default.removeItem(at: folder.file())
      return .status(503)
    }
    guard case .failure(.generalError(let error)) = await upload(other.url(), from: .file(folder.file())) else {
      Issue.record("sent again")
      return
    }
    #expect("\(error)".contains("not a file that can be read") && other.requests.count == 1)
  }

  #if canImport(FoundationNetworking)
    /// A stream that breaks off has sent something, and the rest would be missing.
    @Test(arguments: [nil, 100], [true, false])
    func failsWhenAStreamFailsHalfway(_ length: Int64?, saysSoAtOnce: Bool) async throws {
      let server = try LoopbackServer { _ in .ok() }
      let body = RequestBody.stream(length: length) { HalfStream(saysSoAtOnce) }
      let result = await upload(server.url(), from: body, policy: .never)
      #expect(result.error != nil)
      #expect(server.requests.filter(\.isComplete).isEmpty)
    }
  #endif

  /// Gives five bytes, then fails: the next read returns -1, or only the status is an error.
  final class HalfStream: InputStream {
    private let saysSoAtOnce: Bool
    private var isRead = false
    init(_ saysSoAtOnce: Bool) {
      self.saysSoAtOnce = saysSoAtOnce
      super.init(data: Data())
    }
    override func open() {}
    override func close() {}
    override var streamStatus: Stream.Status { isRead && !saysSoAtOnce ? .error : .open }
    override var hasBytesAvailable: Bool { true }
    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      defer { isRead = true }
      if isRead { return saysSoAtOnce ? -1 : 0 }
      for index in 0..<5 { buffer[index] = 65 }
      return 5
    }
  }

  // MARK: Progress

  @Test func reportsTheTotalIfTheLengthIsKnown() async throws {
    let (folder, bodies) = try Self.bodies()
    for (name, body) in bodies {
      let server = try LoopbackServer { _ in .ok() }
      let reported = Box<[TransferProgress]>([])
      let request = URLRequest(url: server.url(), method: "PUT")
      await handlerValue {
        session.performNetworkUpload(
          request, from: body, policy: .quick(), onProgress: reported.append, completionHandler: $0)
      }
      let all = try #require(reported.value)
      let expected: Int64? = name == "stream" ? nil : 1_000_000
      #expect(all.dropLast().allSatisfy { $0.total == expected || $0.completed == 1_000_000 }, "\(name)")
      #expect(all.last?.completed == 1_000_000 && all.last?.fraction == 1, "\(name)")
      #expect(all.map(\.completed) == all.map(\.completed).sorted(), "\(name)")
    }
    _ = folder
  }
}
