import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RequestBodyTests {
  // MARK: Header fields

  static let headers: [(URLRequest.Header, String, String)] = [
    (.authorization(bearer: "abc"), "Authorization", "Bearer abc"),
    (.authorization(user: "Aladdin", password: "open sesame"), "Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    (.authorization(user: "test", password: "123£"), "Authorization", "Basic dGVzdDoxMjPCow=="),
    (.accept("text/html"), "Accept", "text/html"), (.contentType("text/html"), "Content-Type", "text/html"),
    (.userAgent("App/1 (x; y)"), "User-Agent", "App/1 (x; y)"), (.ifNoneMatch("\"v1\""), "If-None-Match", "\"v1\""),
    (.idempotencyKey("k-1"), "Idempotency-Key", "k-1"), (.init("X-A", "b"), "X-A", "b"),
  ]
  @Test(arguments: headers.indices) func typedFields(_ row: Int) async throws {
    let (header, name, value) = Self.headers[row]
    let server = try LoopbackServer(script: .ok())
    try await session.load(Call(server: server, headers: [header]))
    #expect(server.requests.first?.value(name) == value)
  }

  @Test func aFieldThatStandsThereTwiceIsSentWithBothValues() async throws {
    let server = try LoopbackServer(script: .ok())
    try await session.load(Call(server: server, headers: [.init("X-A", "1"), .init("x-a", "2")]))
    #expect(server.requests.first?.value("X-A") == "1,2")
  }

  @Test(arguments: [true, false]) func listsCanBeBuilt(_ flag: Bool) {
    @ListBuilder<URLQueryItem> var items: [URLQueryItem] {
      URLQueryItem(name: "a", value: "1")
      if flag { URLQueryItem(name: "b", value: nil) }
      Optional<URLQueryItem>.none
      if flag { URLQueryItem(name: "c", value: nil) } else { URLQueryItem(name: "d", value: nil) }
      for number in 1...2 { URLQueryItem(name: "e", value: "\(number)") }
      [URLQueryItem(name: "f", value: ""), URLQueryItem(name: "g", value: "")]
    }
    @ListBuilder<URLRequest.Header> var headers: [URLRequest.Header] {
      URLRequest.Header.accept("x")
      if flag { .init("X-A", "1") }
    }
    #expect(items.map(\.name) == (flag ? ["a", "b", "c", "e", "e", "f", "g"] : ["a", "d", "e", "e", "f", "g"]))
    #expect(headers.count == (flag ? 2 : 1))
  }
}
