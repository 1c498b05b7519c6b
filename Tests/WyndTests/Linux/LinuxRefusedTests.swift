import Foundation
import Testing
import WyndLoopbackServer

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// A refused connection proves that nothing was sent only if libcurl has sent nothing on a connection before it.
  @Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct LinuxRefusedTests {
    /// The server takes the order on a kept-alive connection, closes it, and refuses further ones.
    @Test(arguments: LinuxSentOnceTests.Kind.allCases, [5, 100_000])
    func aPOSTOfAServerThatDiesIsSentOnce(_ kind: LinuxSentOnceTests.Kind, _ size: Int) async throws {
      for end in [ScriptedResponse.close, .reset] {
        let box = Box<LoopbackServer?>(nil)
        let server = try LoopbackServer { request in
          if request.target != "/order" { return .ok("x") }
          box.value??.stop()
          return end
        }
        box.value = server
        let session = LinuxSentOnceTests.session()
        // The server ignores `Connection: close`, so this leaves a kept-alive connection for the order.
        let warm = URLRequest(url: server.url("/warm"), method: "POST")
        for _ in 0..<2 { #expect(await LinuxSentOnceTests.send(kind, warm, session) == 200) }
        let log = EventLog()
        var request = URLRequest(url: server.url("/order"), method: "POST")
        if kind == .body { request.httpBody = Data(repeating: 65, count: size) }
        let policy = RetryPolicy.quick(maxRetries: 2, onEvent: log.add)
        switch kind {
        case .empty, .body: _ = await session.result(of: request, policy: policy)
        case .download, .bytes: _ = try? await session.networkBytes(for: request, policy: policy)
        default:
          let data = Data(repeating: 65, count: size)
          let body: RequestBody =
            switch kind {
            case .stream: .stream(length: Int64(size)) { InputStream(data: data) }
            case .streamOfUnknownLength: .stream { InputStream(data: data) }
            default: .data(data)
            }
          _ = try? await session.performNetworkUpload(request, from: body, policy: policy)
        }
        let orders = server.requests.filter { $0.target == "/order" }
        #expect(orders.count == 1, "\(kind) \(size)")
        #expect(log.safeties.count == 1 && log.safeties.first == .mayHaveBeenApplied, "\(kind) \(size) \(log.safeties)")
        box.value = .some(nil)
      }
    }

    /// Nothing of the body was sent, so it is retried.
    @Test(arguments: [0, 5]) func aPOSTThatIsRefusedIsRetried(_ size: Int) async throws {
      let server = try LoopbackServer(isListening: false) { _ in .ok("x") }
      var request = URLRequest(url: server.url("/order"), method: "POST")
      request.httpBody = Data(repeating: 65, count: size)
      let log = EventLog()
      let policy = RetryPolicy.quick(maxRetries: 2, onEvent: log.add)
      let session = LinuxSentOnceTests.session()
      #expect(await session.result(of: request, policy: policy).error?.urlError?.code == .cannotConnectToHost)
      #expect(log.safeties == [.nothingSent, .nothingSent, .nothingSent])
    }

    /// URLSession would add fields to a body that is a stream.
    @Test(arguments: [0, 5]) func aPOSTHasTheFieldsOfABodyInMemory(_ size: Int) async throws {
      let server = try LoopbackServer(script: .ok("x"))
      var request = URLRequest(url: server.url(), method: "POST")
      request.httpBody = Data(repeating: 65, count: size)
      _ = try await LinuxSentOnceTests.session().performNetworkRequest(request)
      let names = Set(server.requests.flatMap { $0.headers.map { $0.name.lowercased() } })
      #expect(!names.contains("transfer-encoding") && !names.contains("expect"), "\(names)")
      #expect(names.contains("content-length") && names.contains("content-type") == (size > 0), "\(names)")
    }
  }
#endif
