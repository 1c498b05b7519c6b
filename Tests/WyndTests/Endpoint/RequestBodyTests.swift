import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Bodies, header fields and query items as the server receives them.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct RequestBodyTests {
  let session = URLSession(configuration: .ephemeral)

  struct Call: LocalEndpoint {
    typealias Response = Void
    let server: LoopbackServer
    var method: NetworkMethod = .post
    var headers: [String: String] = [:]
    var body: RequestBody = .empty
    var prepared: @Sendable (inout URLRequest) throws -> Void = { _ in }
    func prepare(request: inout URLRequest) throws { try prepared(&request) }
  }

  struct Form: Codable { var name: String; var tags: [String]; var note: String? }

  static let name = "Bella"
  static let count = 3
  static var bodies: [(RequestBody, String, String)] {
    [
      (.data(Data("x".utf8)), "application/octet-stream", "x"),
      (.data(Data("x".utf8), contentType: "image/png"), "image/png", "x"),
      (.text("ü"), "text/plain; charset=utf-8", "ü"), (.json([1, 2]), "application/json", "[1,2]"),
      (.json(["a": 1, "b": [1, nil] as [Int?]]), "application/json", #"{"a":1,"b":[1,null]}"#),
      (.json("text"), "application/json", "\"text\""),
      (.json(["n": name, "c": count, "d": nil]), "application/json", #"{"c":3,"d":null,"n":"Bella"}"#),
      (.form(["n": name, "c": count, "d": nil]), "application/x-www-form-urlencoded", "c=3&n=Bella"),
      (
        .form([.init(name: "a b", value: "c&d=é+"), .init(name: "e", value: nil)]), "application/x-www-form-urlencoded",
        "a+b=c%26d%3D%C3%A9%2B&e"
      ),
      (
        .form(Form(name: "B", tags: ["x", "y z"])), "application/x-www-form-urlencoded", "name=B&tags=x&tags=y+z"
      ),
    ]
  }

  @Test(arguments: bodies) func sendsEachBodyWithItsContentType(_ body: RequestBody, _ type: String, _ text: String)
    async throws
  {
    let server = try LoopbackServer(script: .ok())
    try await session.load(Call(server: server, body: body))
    let request = try #require(server.requests.first)
    #expect(request.value("Content-Type") == type)
    #expect(request.text == text)
    try await session.load(Call(server: server, headers: ["Content-Type": "text/x-own"], body: body))
    #expect(server.requests.last?.value("Content-Type") == "text/x-own")
  }

  @Test func sendsAMultipartBodyFromMemory() async throws {
    let server = try LoopbackServer(script: .ok())
    let body = RequestBody.multipart([
      .text("a\"\u{301}\r\nb", "1"), .data("é", Data([0, 255]), fileName: "x\".bin"), .text("empty", ""),
    ])
    try await session.load(Call(server: server, body: body))
    let request = try #require(server.requests.first)
    let boundary = try #require(request.value("Content-Type")?.components(separatedBy: "boundary=").last)
    var expected = Data(
      "--\(boundary)\r\nContent-Disposition: form-data; name=\"a%22\u{301}%0D%0Ab\"\r\n\r\n1\r\n".utf8)
    expected += Data(
      "--\(boundary)\r\nContent-Disposition: form-data; name=\"é\"; filename=\"x%22.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        .utf8)
    expected += Data([0, 255])
    expected += Data(
      "\r\n--\(boundary)\r\nContent-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--\(boundary)--\r\n".utf8)
    #expect(Data(request.body) == expected)
  }

  // MARK: Invalid requests are not sent

  struct Failure: Error {}

  @Test func rejectsBodiesAndHeadersThatCannotBeEncoded() async throws {
    let server = try LoopbackServer(script: .ok())
    let calls: [Call] = [
      Call(server: server, body: .json(["x": Double.nan])), Call(server: server, body: .form([1, 2])),
      Call(server: server, body: .form("text")), Call(server: server, method: .get, body: .text("x")),
      Call(server: server, method: "GE T"), Call(server: server, method: ""),
      Call(server: server, headers: ["X-A": "a\r\nX-Evil: 1"]), Call(server: server, headers: ["X-A": "\n"]),
      Call(server: server, headers: ["X-A": "a\u{0}b"]), Call(server: server, headers: ["X A": "a"]),
      Call(server: server, headers: ["X-A\r\nEvil": "a"]), Call(server: server, headers: ["": "a"]),
      Call(server: server, headers: ["X-Ü": "a"]), Call(server: server, headers: ["X-A": "1", "x-a": "2"]),
      Call(server: server, headers: BearerToken("a\nb").headers),
      Call(server: server, method: "get", body: .text("x")), Call(server: server, method: .head, body: .text("x")),
      Call(server: server, body: .text("x")) { $0.httpMethod = "GET" },
      Call(server: server, body: .data(Data(), contentType: "a\r\nX-Evil: 1")),
      Call(server: server, body: .multipart([.data("a", Data(), contentType: "a\r\n\r\nb")])),
      Call(server: server) { $0.url = nil },
      Call(server: server) { $0.httpMethod = "A B" },
    ]
    for (number, call) in calls.enumerated() {
      do throws(NetworkError) {
        _ = try call.request
        Issue.record("call \(number) made a request")
      } catch {
        guard case .invalidRequest(let reason) = error else { Issue.record("call \(number): \(error)"); continue }
        #expect(!reason.isEmpty)
      }
      await #expect(throws: NetworkError.self) { try await session.load(call) }
    }
    #expect(server.requests.isEmpty)
  }

  @Test func reportsErrorsOfPrepare() async throws {
    let server = try LoopbackServer(script: .ok())
    do throws(NetworkError) { try await session.load(Call(server: server) { _ in throw Failure() }) } catch {
      guard case .generalError(let own) = error else { Issue.record("\(error)"); return }
      #expect(own is Failure)
    }
    do throws(NetworkError) { try await session.load(Call(server: server) { _ in throw NetworkError.cancelled }) } catch
    {
      guard case .cancelled = error else { Issue.record("\(error)"); return }
    }
    #expect(server.requests.isEmpty)
    try await session.load(
      Call(server: server) {
        $0.timeoutInterval = 5; $0.setValue("1", forHTTPHeaderField: "X-P")
      })
    #expect(server.requests.first?.value("X-P") == "1")
  }

  struct Unsent: Endpoint {
    typealias Response = Void
    let error: any Error
    var host: String { "a.example" }
    var path: String { "/" }
    var method: NetworkMethod { .post }
    var body: RequestBody { get throws { throw error } }
  }

  @Test func reportsTheErrorOfABody() async {
    let script = NetworkScript([.ok("")])
    var texts: [String] = []
    let errors: [any Error] = [Failure(), NetworkError.invalidRequest(reason: "too large")]
    for error in errors {
      do throws(NetworkError) { _ = try Unsent(error: error).request } catch { texts.append("\(error)") }
      do throws(NetworkError) { try await script.load(Unsent(error: error)) } catch { texts.append("\(error)") }
    }
    let own = "The request failed: Failure, WyndTests.RequestBodyTests.Failure 1"
    #expect(texts == [own, own, "invalid request: too large", "invalid request: too large"])
    #expect(script.requests.isEmpty)
  }

  @Test func reportsThePathOfAnEncodingError() {
    struct Order: Encodable { var items: [[String: Double]] }
    let server = try? LoopbackServer(script: .ok())
    guard let server else { return }
    do throws(NetworkError) {
      _ = try Call(server: server, body: .json(Order(items: [[:], ["price": .infinity]]))).request
    } catch {
      #expect("\(error)".hasPrefix("invalid request: the body cannot be encoded: items[1].…: "), "\(error)")
    }
  }
}
