import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension TransportTests {
  @Test func reusesAConnection() async throws {
    let server = try LoopbackServer(script: .ok("x"))
    for _ in 0..<5 { _ = try await session.performNetworkRequest(server.url()) }
    #expect(server.requests.map(\.connection) == [0, 0, 0, 0, 0])
    #expect(server.requests.map(\.indexOnConnection) == [0, 1, 2, 3, 4])
  }

  /// A POST uses no connection of another request, so a refusal proves that nothing was sent.
  @Test func refusedConnectionProvesThatNothingWasSent() async throws {
    for isWarm in [true, false] {
      let server = try LoopbackServer(script: .ok("x"))
      let url = server.url()
      if isWarm { _ = try await session.performNetworkRequest(url) }
      server.stop()
      let request = URLRequest(url: url, method: "POST", body: "order")
      let log = EventLog()
      let policy = RetryPolicy.quick(maxRetries: 1, onEvent: log.add)
      let own = isWarm ? session : URLSession(configuration: .ephemeral)
      let error = await own.result(of: request, policy: policy).error
      #expect(error?.urlError?.code == .cannotConnectToHost)
      #if canImport(FoundationNetworking)
        #expect(log.safeties.first == .nothingSent)
      #endif
    }
  }
}
