import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The spellings that come to mind first are those of the requirements, so that the compiler does not ignore them.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct EndpointSpellingTests {
  struct Order: Codable, Equatable {
    var id: Int
    var date: Date
  }
  struct NewOrder: Endpoint {
    typealias Response = String
    let path = "/orders"
    let method: NetworkMethod = .post
    let headers = ["X-Page": "7"]
    let policy = RetryPolicy.never
    var body: RequestBody { .json(["id": 1]) }
  }
  struct Computed: Endpoint {
    typealias Response = String
    let path = "/orders"
    let token: String
    var headers: [String: String] { ["Authorization": "Bearer \(token)"] }
  }

  @Test func usesBodyHeadersAndPolicyAsTheyAreWrittenFirst() async throws {
    let script = NetworkScript([.status(503)])
    await #expect(throws: NetworkError.self) { try await script.load(NewOrder()) }
    let request = try #require(script.requests.first)
    #expect(script.requests.count == 1 && request.httpBody == Data(#"{"id":1}"#.utf8))
    #expect(request.value(forHTTPHeaderField: "X-Page") == "7")
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/json")
  }

  @Test func takesComputedHeaderFields() async throws {
    let script = NetworkScript([.ok("x")])
    _ = try await script.load(Computed(token: "t"))
    #expect(script.requests[0].value(forHTTPHeaderField: "Authorization") == "Bearer t")
    // Without a body, nothing says of which type it is.
    #expect(script.requests.allSatisfy { $0.httpBody == nil && $0.value(forHTTPHeaderField: "Content-Type") == nil })
    let any: any Endpoint = NewOrder()
    #expect(any.headers == ["X-Page": "7"])
  }

  /// A body of length 0 has a type, no body has none.
  @Test func distinguishesNoBodyFromAnEmptyOne() async throws {
    let script = NetworkScript([.ok("x")])
    try await script.load(.post("/x", body: .data(Data(), contentType: "a/b")))
    try await script.load(.post("/x"))
    #expect(script.requests[0].httpBody == Data() && script.requests[1].httpBody == nil)
    #expect(script.values(of: "Content-Type") == ["a/b", nil])
  }

  // MARK: Calls without a type

  @Test func inferesTheTypeOfTheResponse() async throws {
    let script = NetworkScript([.ok("[1]")])
    let numbers: [Int] = try await script.load(.get("/x"))
    let posted: [Int] = try await script.load(.post("/x"))
    #expect(numbers == [1] && posted == [1])
    try await script.load(.get("/x"))
    let handled = await handlerValue { end in
      script.load(.get("/x")) { (result: Result<[Int], NetworkError>) in end(result) }
    }
    #expect(try handled.get() == [1])
  }

  @Test func eachMethodTakesAPathOrAURL() async throws {
    let script = NetworkScript([.ok("")])
    let url = try #require(URL(string: "https://b.example/y?a=1+2"))
    for isURL in [false, true] {
      let place: any NetworkLocation = isURL ? url : "/x"
      try await Self.sendAll(to: place, on: script)
    }
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
    #expect(script.requests.map(\.httpMethod) == methods + methods)
    let urls = script.requests.map { $0.url?.absoluteString }
    #expect(Set(urls.prefix(7)) == ["/x?q=b"])
    #expect(Set(urls.suffix(7)) == ["https://b.example/y?a=1+2&q=b"])
  }
  static func sendAll(to place: some NetworkLocation, on script: NetworkScript) async throws {
    try await script.load(.get(place, query: ["q": "b"]))
    try await script.load(.post(place, query: ["q": "b"]))
    try await script.load(.put(place, query: ["q": "b"]))
    try await script.load(.patch(place, query: ["q": "b"]))
    try await script.load(.delete(place, query: ["q": "b"]))
    #expect(try await script.load(.head(place, query: ["q": "b"])).statusCode == 200)
    try await script.load(.request(.options, place, query: ["q": "b"]))
  }

  /// A type of the app that says where calls go.
  enum Place: NetworkLocation {
    case users, film
    var networkLocation: (path: String, url: URL?) {
      self == .users ? ("/users", nil) : ("", URL(string: "https://b.example/film"))
    }
  }
  @Test func takesAPlaceOfTheApp() async throws {
    let script = NetworkScript([.ok("")])
    let client = NetworkClient(baseURL: URL(string: "https://a.example/v2"), on: script)
    for place in [Place.users, .film] { try await client.load(.get(place)) }
    let urls = script.requests.map { $0.url?.absoluteString }
    #expect(urls == ["https://a.example/v2/users", "https://b.example/film"])
  }

  struct Filter: Encodable {
    var text: String
    var tags: [String]
    var page: Int?
  }
  @Test func takesAnyEncodableItemsOrValuesAsTheQuery() async throws {
    let script = NetworkScript([.ok("")])
    let filter = Filter(text: "a b", tags: ["x", "y"], page: nil)
    try await script.load(.get("/x", query: .encoding(filter)))
    _ = try await script.load(.get("/x", query: .encoding(filter), as: String.self))
    try await script.load(.request(.options, "/x", query: .encoding(filter)))
    let items = [URLQueryItem(name: "q", value: "a b"), URLQueryItem(name: "a", value: nil)]
    try await script.load(.get("/x", query: .items(items)))
    _ = try await script.load(.request(.options, "/x", query: .items(items), as: String.self))
    try await script.load(.get("/x", query: ["page": 2, "text": "z", "none": nil as Int?]))
    let encoded = "tags=x&tags=y&text=a%20b"
    let expected = [encoded, encoded, encoded, "q=a%20b&a", "q=a%20b&a", "page=2&text=z"]
    #expect(script.requests.map { $0.url?.query } == expected)
  }

  // MARK: Dates

  /// The body, the query and the decoder agree.
  @Test func writesAndReadsDatesInTheSameFormat() async throws {
    let order = Order(id: 1, date: Date(timeIntervalSince1970: 1_795_276_800))
    let script = NetworkScript { request, _ in .response(200, headers: [:], body: request.httpBody ?? Data()) }
    let same = try await script.load(
      .request(.post, "/x", query: .encoding(order), body: .json(order), as: Order.self))
    #expect(same == order && script.requests.first?.url?.query == "date=2026-11-21T16%3A00%3A00Z&id=1")
    #expect(script.requests.first?.httpBody == Data(#"{"date":"2026-11-21T16:00:00Z","id":1}"#.utf8))
    let echoed = try await NetworkScript([try .json(order)]).load(.get("/x", as: Order.self))
    #expect(echoed == order)
  }

  /// A version check by date compares the text: a fraction that was read is written, and none that was not there.
  @Test(arguments: [
    "2026-11-21T16:00:27.789Z", "2026-11-21T16:00:27.001Z", "2026-11-21T16:00:27.999Z", "1969-12-31T23:59:59.500Z",
    "2026-11-21T16:00:27Z",
  ])
  func writesTheFractionThatItHasRead(_ text: String) async throws {
    let script = NetworkScript { request, _ in .response(200, headers: [:], body: Data(#"["\#(text)"]"#.utf8)) }
    let date = try #require(try await script.load(.get("/x", as: [Date].self)).first)
    try await script.load(.post("/x", query: ["at": date], body: .json(["at": date])))
    let request = try #require(script.requests.last)
    #expect(request.httpBody == Data(#"{"at":"\#(text)"}"#.utf8))
    #expect(request.url?.query(percentEncoded: false) == "at=\(text)")
  }

  /// Milliseconds of every kind of year come back as they were read. What is finer is cut off: the next second is later.
  @Test func writesNoDateThatIsLater() async throws {
    var random = SeededRandom(seed: 63)
    var texts = ["2026-11-21T16:00:27.9999Z", "2026-11-21T16:00:27.999999Z", "2026-12-31T23:59:59.9996Z"]
    for year in [1970, 1999, 2001, 2026, 2037, 2105, 2500, 9999] {
      for _ in 0..<50 { texts.append("\(year)-07-08T09:10:11.\(Int.random(in: 1001...1999, using: &random))Z") }
    }
    texts = texts.map { $0.replacingOccurrences(of: "11.1", with: "11.") }
    let body = try JSONEncoder().encode(texts)
    let dates = try await NetworkScript([.response(200, body: body)]).load(.get("/x", as: [Date].self))
    let script = NetworkScript([.ok("")])
    try await script.load(.post("/x", body: .json(dates)))
    let written = try JSONDecoder().decode([String].self, from: try #require(script.requests.first?.httpBody))
    for (text, written) in zip(texts, written) { #expect(written == text.prefix(23) + "Z") }
  }

  static let dates: [(text: String, seconds: Double?)] = [
    ("2026-11-21T16:00:00Z", 1_795_276_800), ("2026-11-21T17:00:00+01:00", 1_795_276_800),
    ("2026-11-21T16:00:00.250Z", 1_795_276_800.25), ("2026-11-21", nil), ("1795276800", nil),
    ("2026-11-21T16:00:00Z\u{301}", nil), ("2026-11-21T16:00:00Z\u{A0}", nil),
  ]
  @Test(arguments: dates) func readsDatesOfISO8601(_ text: String, _ seconds: Double?) async throws {
    let script = NetworkScript([.ok(#"["\#(text)"]"#)])
    if let seconds {
      #expect(try await script.load(.get("/x", as: [Date].self)).map(\.timeIntervalSince1970) == [seconds])
    } else {
      let error = await #expect(throws: NetworkError.self) { try await script.load(.get("/x", as: [Date].self)) }
      let reason = text == "1795276800" ? "[0]: is not valid" : "[0]: is not valid (not a date of ISO 8601)"
      #expect("\(error as Any)".contains(reason), "\(error as Any)")
    }
  }

  /// A server chooses the text, and Foundation reads it.
  @Test func noTextOfADateEndsTheProcess() async throws {
    let whole = "2026-11-21T16:00:00.250+01:00"
    var texts = HostileText.marked(whole)
    let parts = whole.split { !$0.isNumber }
    for number in HostileText.numbers + ["-1", "9223372036854775807.5"] {
      for part in parts { texts.append(whole.replacing(part, with: number)) }
    }
    let body = try JSONEncoder().encode(texts.map { [$0] })
    let dates = try await NetworkScript([.response(200, body: body)]).load(.get("/x", as: [[OddDate]].self))
    #expect(dates.count == texts.count && dates.contains { $0.first?.date != nil })
  }

  /// A date, or nil if its text is none.
  struct OddDate: Decodable, Sendable {
    let date: Date?
    init(from decoder: any Decoder) throws { date = try? decoder.singleValueContainer().decode(Date.self) }
  }

  /// A decoder of the client's reads dates its own way.
  @Test func decoderOfTheClientDecidesAboutDates() async throws {
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), on: NetworkScript([.ok("[0]")]), decoder: JSONDecoder())
    let dates = try await client.load(.get("/x", as: [Date].self))
    #expect(dates == [Date(timeIntervalSinceReferenceDate: 0)])
  }
}
