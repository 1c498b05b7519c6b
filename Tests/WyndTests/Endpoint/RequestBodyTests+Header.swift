import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RequestBodyTests {
  // MARK: Header fields

  static let headers: [(NetworkHeader, String, String)] = [
    (.authorization(bearer: "abc"), "Authorization", "Bearer abc"),
    (.authorization(user: "Aladdin", password: "open sesame"), "Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    (.authorization(user: "test", password: "123£"), "Authorization", "Basic dGVzdDoxMjPCow=="),
    (.accept("text/html"), "Accept", "text/html"), (.contentType("text/html"), "Content-Type", "text/html"),
    (.userAgent("App/1 (x; y)"), "User-Agent", "App/1 (x; y)"), (.ifNoneMatch("\"v1\""), "If-None-Match", "\"v1\""),
    (.idempotencyKey("k-1"), "Idempotency-Key", "\"k-1\""), (.init("X-A", "b"), "X-A", "b"),
    (.idempotencyKey(#"a "b" \c"#), "Idempotency-Key", #""a \"b\" \\c""#),
  ]
  @Test(arguments: headers) func sendsTypedHeaders(_ header: NetworkHeader, _ name: String, _ value: String)
    async throws
  {
    let server = try LoopbackServer(script: .ok())
    try await session.load(Call(server: server, headers: [header]))
    #expect(server.requests.first?.value(name) == value)
  }

  @Test func sendsBothValuesOfARepeatedHeader() async throws {
    let server = try LoopbackServer(script: .ok())
    try await session.load(Call(server: server, headers: [.init("X-A", "1"), .init("x-a", "2")]))
    #expect(server.requests.first?.value("X-A") == "1,2")
  }
}
