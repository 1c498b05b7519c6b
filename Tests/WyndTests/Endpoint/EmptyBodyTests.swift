import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// For a type that is decoded from JSON, a body of white space is empty.
@Suite struct EmptyBodyTests {
  struct User: Decodable, Equatable { var name: String }

  static func client(_ body: String, onEvent: (@Sendable (NetworkEvent) -> Void)? = nil) -> NetworkClient {
    NetworkClient(
      baseURL: URL(string: "https://a.example"), on: NetworkScript([.ok(body)]), policy: RetryPolicy(onEvent: onEvent))
  }

  @Test(arguments: ["", " ", "\r\n", "\n", "\t \r\n ", String(repeating: " ", count: 10_000)])
  func whiteSpaceIsAnEmptyBody(_ body: String) async throws {
    let client = Self.client(body)
    #expect(try await client.load(.get("/", as: User?.self)) == nil)
    #expect(try await client.load(.get("/", as: [User]?.self)) == nil)
    #expect(try await client.load(.get("/", as: [String: Int]?.self)) == nil)
    let error = await #expect(throws: NetworkError.self) { try await client.load(.get("/", as: User.self)) }
    guard case .noResponseData? = error else { Issue.record("\(String(describing: error))"); return }
  }

  @Test(arguments: [" ", "\r\n"]) func whiteSpaceIsKeptAsDataAndText(_ body: String) async throws {
    let client = Self.client(body)
    #expect(try await client.load(.get("/", as: Data.self)) == Data(body.utf8))
    #expect(try await client.load(.get("/", as: Data?.self)) == Data(body.utf8))
    #expect(try await client.load(.get("/", as: String.self)) == body)
    #expect(try await client.load(.get("/", as: String?.self)) == body)
  }

  @Test(arguments: ["\u{A0}", "\u{0}", "\u{0B}", " x", "\u{3000}"])
  func bodyOfOtherCharactersThanJSONWhiteSpaceIsNotEmpty(_ body: String) async {
    let error = await #expect(throws: NetworkError.self) { try await Self.client(body).load(.get("/", as: User?.self)) }
    guard case .undecodable? = error else { Issue.record("\(String(describing: error))"); return }
  }

  @Test func whiteSpaceAroundJSONIsIgnored() async throws {
    #expect(try await Self.client(" \r\n{\"name\":\"B\"}\n").load(.get("/", as: User?.self)) == User(name: "B"))
    #expect(try await Self.client(" null\r\n").load(.get("/", as: User?.self)) == nil)
  }

  /// The body is parsed after the last event.
  @Test(arguments: ["<html>", "{}", " "]) func eventsDoNotReportSuccessForABodyThatCannotBeUsed(_ body: String) async {
    let log = EventLog()
    let client = Self.client(body, onEvent: log.add)
    await #expect(throws: NetworkError.self) { try await client.load(.get("/", as: User.self)) }
    await until { log.events.last?.level == .error }
    let lines = log.events.map(\.description)
    #expect(lines.dropLast().last?.hasSuffix(": responded with 200") == true, "\(lines)")
    #expect(lines.last?.contains(": cannot be parsed: ") == true, "\(lines)")
    #expect(!lines.contains { $0.contains("succe") }, "\(lines)")
  }
}
