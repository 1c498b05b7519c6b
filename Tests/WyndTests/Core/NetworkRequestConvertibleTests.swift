import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Every verb takes a URL, a request, an endpoint, and a type of the app.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkRequestConvertibleTests {
  struct Ping: NetworkRequestConvertible {
    var url: URL
    func networkCallPlan(_ defaults: NetworkDefaults) throws(NetworkError) -> NetworkCallPlan {
      if url.scheme == nil { throw .invalidRequest(reason: "no scheme") }
      return URLRequest(url: url, method: "QUERY").networkCallPlan(defaults)
    }
  }
  struct Item: Endpoint {
    typealias Response = Int
    let host = "a.example"
    let path = "/item"
    let policy = RetryPolicy(maxRetries: 1)
  }

  static func sends(
    _ request: some NetworkRequestConvertible, _ name: String, on script: NetworkScript, _ file: URL
  ) async throws {
    let before = script.requests.count
    _ = try? await script.performNetworkRequest(request)
    _ = try? await script.networkResponse(for: request)
    await handlerValue { script.performNetworkRequest(request, completionHandler: $0) }
    _ = try? await script.performNetworkDownload(request, to: file)
    _ = try? await script.performNetworkUpload(request, from: .text("x"))
    _ = try? await script.networkBytes(for: request)
    do { for try await _ in script.serverSentEvents(for: request) {} } catch {}
    _ = try? await script.load(request, as: Int.self)
    await handlerValue { script.load(request, as: Int.self, completionHandler: $0) }
    let sent = script.requests.dropFirst(before)
    #expect(sent.count == 9, "\(name)")
    #expect(sent.allSatisfy { $0.url?.absoluteString == "https://a.example/item" }, "\(name)")
  }

  @Test func everyVerbTakesEachKindOfRequest() async throws {
    let script = NetworkScript([.status(404)])
    let folder = try Folder()
    let url = URL.example.appending(path: "item")
    try await Self.sends(url, "URL", on: script, folder.file())
    try await Self.sends(URLRequest(url: url), "URLRequest", on: script, folder.file())
    try await Self.sends(Item(), "endpoint", on: script, folder.file())
    try await Self.sends(.get(url, as: Int.self), "ad-hoc", on: script, folder.file())
    try await Self.sends(Ping(url: url), "own type", on: script, folder.file())
    let methods = Set(script.requests.suffix(9).compactMap(\.httpMethod))
    #expect(methods == ["QUERY"])
  }

  /// The error of the conversion is that of the call, in both forms.
  @Test func callFailsWithTheErrorOfTheConversion() async throws {
    let script = NetworkScript([.ok("x")])
    let ping = Ping(url: try #require(URL(string: "/item")))
    let error = await #expect(throws: NetworkError.self) { try await script.performNetworkRequest(ping) }
    guard case .invalidRequest(reason: "no scheme")? = error else { Issue.record("\(error as Any)"); return }
    let result = await handlerValue { script.performNetworkRequest(ping, completionHandler: $0) }
    guard case .failure(.invalidRequest(reason: "no scheme")) = result else { Issue.record("\(result)"); return }
    #expect(script.requests.isEmpty)
  }

  /// The policy of an endpoint applies to every verb, and what a call sets takes precedence.
  @Test func policyOfTheEndpointAppliesToEveryVerb() async throws {
    let script = NetworkScript([.status(503)])
    let folder = try Folder()
    _ = try? await script.performNetworkRequest(Item())
    #expect(script.requests.count == 2)
    _ = try? await script.performNetworkDownload(Item(), to: folder.file())
    #expect(script.requests.count == 4)
    _ = try? await script.performNetworkRequest(Item(), maxRetries: 0)
    _ = try? await script.performNetworkRequest(Item(), policy: .never)
    #expect(script.requests.count == 6)
  }

  @Test func loadDecodesTheResponseToAnyRequest() async throws {
    let script = NetworkScript([.ok("[7]"), .ok("[8]"), .ok("x"), .status(404, #"{"code":1}"#)])
    let url = URL.example.appending(path: "item")
    #expect(try await script.load(url, as: [Int].self) == [7])
    let eight = await handlerValue { end in script.load(URLRequest(url: url), as: [Int].self) { end($0) } }
    #expect(try eight.get() == [8])
    await #expect(throws: NetworkError.self) { try await script.load(url, as: [Int].self) }
    let error = await #expect(throws: NetworkError.self) { try await script.load(url, as: [Int].self) }
    #expect(error?.serviceError(as: [String: Int].self) == ["code": 1] && script.requests.count == 4)
  }

  @Test func loadDecodesTheResponseToAnyRequestWithTheDecoderOfTheClient() async throws {
    struct User: Decodable { var firstName: String }
    let client = NetworkClient(on: NetworkScript([.ok(#"{"first_name":"B"}"#)]), decoder: .snakeCase)
    let url = URL.example
    #expect(try await client.load(url, as: User.self).firstName == "B")
    let handled = await handlerValue { client.load(url, as: User.self, completionHandler: $0) }
    #expect(try handled.get().firstName == "B")
  }

  @Test func loadDecodesAnEndpointAsAnotherTypeWithItsOwnDecoder() async throws {
    struct Event: Decodable { var day: Date }
    struct Days: Endpoint {
      typealias Response = Int
      let host = "a.example"
      let path = "/days"
      let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return decoder
      }()
    }
    let client = NetworkClient(on: NetworkScript([.ok(#"{"day":7}"#)]), decoder: JSONDecoder())
    #expect(try await client.load(Days(), as: Event.self).day == Date(timeIntervalSince1970: 7))
    let handled = await handlerValue { client.load(Days(), as: Event.self, completionHandler: $0) }
    #expect(try handled.get().day == Date(timeIntervalSince1970: 7))
  }

  @Test func valueOfALoadedRequestPassesTheMiddleware() async throws {
    let values = Box<[String]>([])
    let client = NetworkClient(
      on: NetworkScript([.ok("7")]), middleware: [EndpointTransferTests.Witness(values: values)])
    #expect(try await client.load(.example, as: Int.self) == 7)
    #expect(values.value == ["7"])
  }
}
