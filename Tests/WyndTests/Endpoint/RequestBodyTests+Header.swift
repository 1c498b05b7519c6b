import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RequestBodyTests {
  // MARK: Header fields

  static let fields = [
    "Accept": "text/html", "Content-Type": "text/x-own", "User-Agent": "App/1 (x; y)", "If-None-Match": "\"v1\"",
    "X-A": "b",
  ]
  @Test func sendsEachHeaderField() async throws {
    let server = try LoopbackServer(script: .ok())
    try await session.load(Call(server: server, headers: Self.fields))
    for (name, value) in Self.fields { #expect(server.requests.first?.value(name) == value, "\(name)") }
  }

  static let users: [(user: String, password: String, value: String)] = [
    ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123£", "Basic dGVzdDoxMjPCow=="),
    ("", "a:b", "Basic OmE6Yg=="),
  ]
  @Test(arguments: users) func sendsUserAndPasswordInUTF8(_ user: String, _ password: String, _ value: String)
    async throws
  {
    let server = try LoopbackServer(script: .ok())
    let credential = try BasicCredential(user: user, password: password)
    try await session.load(Call(server: server, headers: credential.headers))
    #expect(server.requests.first?.value("Authorization") == value)
  }

  /// The server would read the text after the colon as the password.
  @Test func rejectsAColonInTheUserOfBasicAuthentication() throws {
    for user in ["a:b", ":", "a:"] {
      let error = #expect(throws: NetworkError.self) { try BasicCredential(user: user, password: "c") }
      guard case .invalidRequest(let reason)? = error else { Issue.record("\(error as Any)"); continue }
      #expect(reason == "the user of Basic authentication contains a colon")
    }
  }

  @Test func sendsABearerToken() async throws {
    let server = try LoopbackServer(script: .ok())
    try await session.load(Call(server: server, headers: BearerToken("abc").headers))
    #expect(server.requests.first?.value("Authorization") == "Bearer abc")
  }
}
