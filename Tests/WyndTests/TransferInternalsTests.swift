import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How the transfers work inside: these tests go with the parts that they drive.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct TransferInternalsTests {
  @Test func whatWasReadToItsEndIsGone() async throws {
    let server = try LoopbackServer(script: .reset, .ok("all of it"))
    weak var stream: ByteStream?
    do {
      let bytes = try await NetworkBytesTests().bytes(server)
      stream = bytes.reader.stream
      for try await _ in bytes {}
      #expect(stream != nil)
    }
    await until { [weak stream] in stream == nil }
  }
}
