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
    struct Decoder: Endpoint { typealias Response = Void; let path = "/"; let decoder: JSONDecoder? = JSONDecoder() }
    struct Timeout: Endpoint { typealias Response = Void; let path = "/"; let timeout = 5 }
    struct Interval: Endpoint { typealias Response = Void; let path = "/"; let timeoutInterval = 5.0 }

    static let ignored: [(any Endpoint, String, String)] = [
      (TextMethod(), "`method: String` of TextMethod", "`let method: NetworkMethod"),
      (OwnMethod(), "`method: Verb`", "`let method: NetworkMethod"),
      (NameOfMoya(), "`httpMethod: ", "`let method: NetworkMethod"),
      (OptionalScheme(), "Optional<String>", "`let scheme: String`"),
      (OptionalHost(), "`host: ", "`let host: String`"),
      (Port(), "`port: Int`", "`let port: Int?`"),
      (BaseURL(), "`baseURL: ", "NetworkClient(baseURL:)"),
      (TextURL(), "`url: ", "`let host: String`"),
      (Items(), "`queryItems: ", "`var queryItems: [URLQueryItem]`"),
      (OptionalItems(), "`queryItems: ", "`var queryItems: [URLQueryItem]`"),
      (Query(), "`query: ", "`var queryItems: [URLQueryItem]`"),
      (Parameters(), "`parameters: ", "`var queryItems: [URLQueryItem]`"),
      (Headers(), "`headers: ", "`let headers: [String: String]`"),
      (Body(), "`body: User`", "`var body: RequestBody"),
      (Policy(), "`policy: ", "`let policy: RetryPolicy`"),
      (NameOfPolicy(), "`retryPolicy: ", "`let policy: RetryPolicy`"),
      (Decoder(), "`decoder: ", "`let decoder: JSONDecoder`"),
      (Timeout(), "`timeout: ", "request.timeoutInterval"),
      (Interval(), "`timeoutInterval: ", "request.timeoutInterval"),
    ]

    @Test(arguments: ignored) func callFailsAndNamesTheDeclaration(
      _ endpoint: any Endpoint, _ property: String, _ declaration: String
    ) async throws {
      let script = NetworkScript([.ok("")])
      let error = await #expect(throws: NetworkError.self) { try await Self.load(endpoint, on: script) }
      guard case .invalidRequest(let reason)? = error else { Issue.record("\(error as Any)"); return }
      #expect(reason.contains(property) && reason.contains(declaration) && script.requests.isEmpty, "\(reason)")
    }

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

    @Test func propertyWithAnEffectIsNoMistake() async throws {
      let url = try #require(URL(string: "https://a.example/"))
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
  }
#endif
