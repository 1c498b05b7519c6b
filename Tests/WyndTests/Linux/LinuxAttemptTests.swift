#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking
  import Testing
  import WyndLoopbackServer

  @testable import Wynd

  @Suite(.timeLimit(.minutes(5))) struct LinuxAttemptTests {
    /// A task has been created when the attempt notices it, and is canceled in place of resumed.
    @Test func canceledAttemptSendsNothing() async throws {
      let server = try LoopbackServer(script: .ok("x"))
      let session = URLSession(configuration: .ephemeral)
      for _ in 0..<20 {
        let completion = NetworkAttemptCompletion()
        completion.cancel()
        NetworkSessionTransport(session: session).send(
          NetworkOutgoing(request: URLRequest(url: server.url("/canceled"))), completion)
        #expect(await completion.outcome().endedBy == .cancellation)
      }
      _ = try await session.performNetworkRequest(server.url("/later"))
      #expect(server.requests.map(\.target) == ["/later"])
    }

    /// Over TLS, libcurl would send it a second time if a kept-alive connection is dead.
    @Test func aGETThatIsNotSafeToRepeatHasANewConnectionOverTLS() throws {
      var request = URLRequest(url: try #require(URL(string: "https://a.example/clear")))
      try request.streamBody(of: nil, isRepeatable: false)
      #expect(request.httpBodyStream == nil && request.needsNewConnection)
      // A body can be made unreadable, so a connection need not be expensive.
      request.httpMethod = "POST"
      request.httpBody = Data("order".utf8)
      try request.streamBody(of: nil, isRepeatable: false)
      #expect(!request.needsNewConnection)
    }
  }
#endif
