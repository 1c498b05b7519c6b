import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension SimulationTests {
  /// What the limit of an attempt includes, in virtual time.
  @Suite(.serialized) struct NetworkTimedTransportTests {
    /// A server that responds after 1 s, and sends a body until 60 s.
    private final class Server: NetworkTransport, @unchecked Sendable {
      // Unchecked: used on the thread of the simulation.
      let time = VirtualTime(seed: 1)
      let head: HTTPURLResponse
      var end: Duration?

      init() throws {
        let url = try #require(URL(string: "http://simulated.example/"))
        head = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
      }

      func send(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
        time.timer(after: .seconds(1)) { [head] in try? outgoing.bodies?.onHead(head) }
        let cancelTimer = time.timer(after: .seconds(60)) { [self] in
          end = time.now
          completion.end(NetworkOutcome(data: Data(), response: head))
        }
        completion.onCancel { [self] in
          end = time.now
          cancelTimer()
        }
      }
    }

    enum Kind: CaseIterable { case plain, upload, download }

    /// Returns when the attempt ended, and whether it received the head.
    private func end(of kind: Kind, _ timeout: Duration) throws -> (end: Duration?, hasHead: Bool) {
      let server = try Server()
      nonisolated(unsafe) var hasHead = false
      var outgoing = NetworkOutgoing(request: URLRequest(url: try #require(server.head.url)))
      if kind != .plain {
        outgoing.bodies = NetworkBodies(
          isUpload: kind == .upload, onHead: { _ in hasHead = true }, onData: { _ in })
      }
      let transport = NetworkTimedTransport(transport: server, timeout: timeout, clock: server.time)
      transport.send(outgoing, NetworkAttemptCompletion())
      server.time.run()
      return (server.end, hasHead)
    }

    @Test func limitIsThatOfTheHeadForADownloadAndOfTheResponseOtherwise() throws {
      #expect(try end(of: .plain, .seconds(10)) == (.seconds(10), false))
      #expect(try end(of: .upload, .seconds(10)) == (.seconds(10), true))
      #expect(try end(of: .download, .seconds(10)) == (.seconds(60), true))
      #expect(try end(of: .download, .milliseconds(999)).end == .milliseconds(999))
      for kind in Kind.allCases { #expect(try end(of: kind, .seconds(61)).end == .seconds(60)) }
    }

    @Test func attemptLeavesNoTimerBehind() throws {
      let time = VirtualTime(seed: 1)
      let transport = SimulatedTransport { $1(NetworkOutcome(data: Data())) }
      let url = try #require(URL(string: "http://simulated.example/"))
      let completion = NetworkAttemptCompletion()
      completion.setTimer(after: .seconds(20), .deadline, time)
      NetworkTimedTransport(transport: transport, timeout: .seconds(10), clock: time)
        .send(NetworkOutgoing(request: URLRequest(url: url)), completion)
      #expect(completion.hasEnded && time.isIdle)
    }
  }
}
