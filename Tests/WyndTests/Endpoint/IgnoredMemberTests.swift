import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// A release build has nothing of it; Tests/Vendoring/size shows that.
#if DEBUG
  /// A stored property that Swift ignores, because its type is not that of the requirement, makes the call fail.
  @Suite struct IgnoredMemberTests {
    enum Verb: String, Sendable { case get = "GET", post = "POST" }
    struct User: Encodable { var name = "Ada" }

    struct TextMethod: Endpoint { typealias Response = Void; let path = "/"; let method = "POST" }
    struct OwnMethod: Endpoint { typealias Response = Void; let path = "/"; let method = Verb.post }
    struct NameOfMoya: Endpoint { typealias Response = Void; let path = "/"; let httpMethod: NetworkMethod = .put }
    struct OptionalScheme: Endpoint {
      typealias Response = Void; let path = "/"; let host = "a.example"; let scheme: String? = "http"
    }
    struct OptionalHost: Endpoint { typealias Response = Void; let path = "/"; let host: String? = "b.example" }
    struct Port: Endpoint { typealias Response = Void; let path = "/"; let host = "a.example"; let port = 8080 }
    struct BaseURL: Endpoint {
      typealias Response = Void; let path = "/"; let baseURL = URL(string: "https://b.example")
    }
    struct TextURL: Endpoint { typealias Response = Void; let path = "/"; let url = "https://b.example/x" }
    struct Items: Endpoint { typealias Response = Void; let path = "/"; let queryItems = ["a": "b"] }
    struct OptionalItems: Endpoint {
      typealias Response = Void; let path = "/"; let queryItems: [URLQueryItem]? = [URLQueryItem(name: "a", value: "b")]
    }
    struct Query: Endpoint { typealias Response = Void; let path = "/"; let query = ["a": "b"] }
    struct Parameters: Endpoint { typealias Response = Void; let path = "/"; let parameters = ["a": 1] }
    struct Headers: Endpoint {
      typealias Response = Void; let path = "/"; let headers: [String: String]? = ["X-Page": "7"]
    }
    struct Body: Endpoint {
      typealias Response = Void; let path = "/"; let method: NetworkMethod = .post; let body = User()
    }
    struct Policy: Endpoint { typealias Response = Void; let path = "/"; let policy: RetryPolicy? = .never }
    struct NameOfPolicy: Endpoint { typealias Response = Void; let path = "/"; let retryPolicy = RetryPolicy.never }

    // What has its effect in another way, or is not meant to have one.

    struct Prepared: Endpoint {
      typealias Response = Void
      let path = "/"
      let method = "put"
      let timeout = 5
      let headers: [String: String]? = ["X-Page": "7"]
      let body = User()
      func prepare(request: inout URLRequest) throws {
        request.httpMethod = method
        request.timeoutInterval = TimeInterval(timeout)
        request.httpBody = try JSONEncoder().encode(body)
        for (name, value) in headers ?? [:] { request.setValue(value, forHTTPHeaderField: name) }
      }
    }
    struct Whole: Endpoint {
      typealias Response = Void
      let baseURL: URL
      let path = "/"
      var url: URL { baseURL }
    }
    struct Filtered: Endpoint {
      typealias Response = Void
      let query: [String: String]
      let path = "/"
      var queryItems: [URLQueryItem] { query.map { URLQueryItem(name: $0.key, value: $0.value) } }
    }
    struct Search: Endpoint {
      typealias Response = Void
      let query: String
      let parameters: [String: String]
      let retryPolicy: RetryPolicy
      let path = "/"
      let method: NetworkMethod = .post
      var body: RequestBody { .json(parameters) }
      var policy: RetryPolicy { retryPolicy }
    }
    struct Right: Endpoint {
      typealias Response = Void
      let scheme = "http"
      let host = "MÜNCHEN.example"
      let port: Int? = nil
      let path = "/"
      let method: NetworkMethod = .post
      let queryItems: [URLQueryItem] = []
      let headers = ["X-Page": "7"]
      let body: RequestBody = .empty
      let policy = RetryPolicy.never
      let decoder = JSONDecoder()
    }
    struct Unset: Endpoint {
      typealias Response = Void
      let path = "/"
      let scheme: String? = nil
      let host: String? = nil
      let headers: [String: String]? = nil
      let query: [String: String] = [:]
      let policy: RetryPolicy? = nil
      let method = "GET"
      let timeout = 60.0
      let retryPolicy = RetryPolicy.default
    }

    // Properties that are meant for something else.

    enum ColorScheme: String, Codable, Sendable { case dark }
    enum Payment: String, Codable, Sendable { case card }
    struct Server: Codable, Sendable { var id = 7 }
    enum Call: Endpoint {
      typealias Response = Void
      case url(String)
      case host(id: Int)
      case method(String)
      case timeout(Int)
      case body(String)
      var path: String { "/" }
    }
    struct Poll: Endpoint {
      typealias Response = Void
      let timeout: Int
      let path = "/"
      var queryItems: [URLQueryItem] { [URLQueryItem(name: "timeout", value: "\(timeout)")] }
    }
    struct Limited: Endpoint {
      typealias Response = Void
      let timeout: Duration
      let path = "/"
      var policy: RetryPolicy { RetryPolicy(deadline: timeout) }
    }
    struct Preview: Endpoint {
      typealias Response = Void
      let url = "https://b.example/a page"
      let scheme = ColorScheme.dark
      let method = Payment.card
      let path = "/"
      var queryItems: [URLQueryItem] {
        [URLQueryItem(name: "url", value: url), URLQueryItem(name: "look", value: scheme.rawValue + method.rawValue)]
      }
    }
    struct OfServer: Endpoint {
      typealias Response = Void
      let host = Server()
      let port = 9
      let body = ColorScheme.dark
      let query = ["a", "b"]
      let decoder: JSONDecoder? = JSONDecoder()
      var path: String { "/hosts/\(port)/\(body)/\(query.joined())" }
    }
    struct Table: Endpoint {
      typealias Response = Void
      let headers: [String]
      let parameters: [String: String]
      let prepare: @Sendable (inout URLRequest) -> Void
      let path = "/"
      let method: NetworkMethod = .post
      var body: RequestBody { .json(headers) }
      func prepare(request: inout URLRequest) { prepare(&request) }
    }
    struct Minute: Endpoint {
      typealias Response = Void
      let timeout = 60
      let path = "/"
      let method: NetworkMethod?? = .some(nil)
      func prepare(request: inout URLRequest) { request.timeoutInterval = TimeInterval(timeout) }
    }

    @Test func propertyThatIsMeantForSomethingElseIsNoMistake() async throws {
      let endpoints: [any Endpoint] = [
        Call.url("https://b.example"), Call.host(id: 1), Call.method("POST"), Call.timeout(5), Call.body("x"),
        Poll(timeout: 30), Limited(timeout: .seconds(5)), Preview(), OfServer(), Minute(),
        Table(headers: ["Name"], parameters: ["a": "b"], prepare: { $0.setValue("1", forHTTPHeaderField: "X-A") }),
      ]
      for endpoint in endpoints { try await Self.load(endpoint, on: NetworkScript([.ok("")])) }
    }

    @Test func propertyWithAnEffectIsNoMistake() async throws {
      let url = URL.example
      let endpoints: [any Endpoint] = [
        Prepared(), Whole(baseURL: url), Filtered(query: ["a": "b"]),
        Search(query: "x", parameters: ["a": "b"], retryPolicy: .never), Right(), Unset(),
      ]
      for endpoint in endpoints { try await Self.load(endpoint, on: NetworkScript([.ok("")])) }
      let script = NetworkScript([.ok("1")])
      for timeout in [nil, 60, 5] as [TimeInterval?] {
        _ = try await Self.client(script).load(.get("/", query: ["a": 1], timeout: timeout, as: Int.self))
      }
    }

    static func client(_ script: NetworkScript) -> NetworkClient {
      NetworkClient(baseURL: URL(string: "https://a.example/"), on: script)
    }
    static func load(_ endpoint: some Endpoint, on script: NetworkScript) async throws {
      _ = try await client(script).load(endpoint)
    }

    struct Film: Endpoint {
      typealias Response = Void
      let path = "/films"
      let method: NetworkMethod = .post
      let file: URL
      let parameters: [String: String]
      var body: RequestBody {
        .multipart(parameters.map { .text($0.key, $0.value) } + [.file("film", file)])
      }
    }

    /// The body is not in the request, but is read when it is sent.
    @Test func propertyInABodyOfFilesIsNoMistake() async throws {
      let folder = try Folder()
      try Data("film".utf8).write(to: folder.file())
      let script = NetworkScript([.ok("")])
      try await Self.load(Film(file: folder.file(), parameters: ["title": "Heat"]), on: script)
      #expect(script.requests.count == 1)
    }
  }
#endif
