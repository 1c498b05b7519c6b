import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The service's own errors: the body of an error response, or thrown by an endpoint.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct ServiceErrorTests {
  struct Problem: Decodable, LocalizedError, Equatable {
    var title: String
    var errorDescription: String? { title }
  }
  /// Throws the error that the service sends with a status of 200.
  struct Order: Endpoint {
    typealias Response = String
    let path = "/order"
    func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> String {
      if let problem = try? decoder.decode(Problem.self, from: data) { throw problem }
      return data.text
    }
  }
  static let body = #"{"title":"Sold out."}"#

  static func client(_ steps: [NetworkScript.Step]) -> NetworkClient {
    NetworkClient(
      baseURL: URL(string: "https://a.example"), on: NetworkScript(steps), policy: RetryPolicy(maxRetries: 1))
  }

  /// A call that names no type: the body of the error is decoded when it is asked for.
  @Test(arguments: [400, 409, 503]) func decodesTheBodyOfAnErrorWhenItIsAsked(_ status: Int) async throws {
    let client = Self.client([.status(status, Self.body)])
    let error = try #require(
      await #expect(throws: NetworkError.self) { try await client.load(.get("/a", as: String.self)) })
    #expect(error.serviceError(as: Problem.self) == Problem(title: "Sold out.") && error.statusCode == status)
    #expect(error.serviceError(as: ShopError.self) == nil && error.serviceError(as: Int.self) == nil)
    #expect(error.serviceError(as: [String: String].self)?["title"] == "Sold out.")
  }

  @Test func decodesTheBodyOfAnErrorWithTheDecoderThatIsPassed() async throws {
    struct Late: Decodable, Equatable {
      var dueDate: Date
    }
    let client = Self.client([.status(409, #"{"due_date":"2026-11-21T16:00:00Z","dueDate":0}"#)])
    let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(.post("/a")) })
    #expect(error.serviceError(as: Late.self) == nil)
    let decoder = JSONDecoder.snakeCase
    decoder.dateDecodingStrategy = .iso8601
    #expect(error.serviceError(as: Late.self, decoder: decoder)?.dueDate.timeIntervalSince1970 == 1_795_276_800)
  }

  /// People read the text of an error that an endpoint throws. The log has the type, and nothing of the body.
  @Test func peopleReadTheErrorThatAnEndpointThrows() async throws {
    let client = Self.client([.ok(Self.body)])
    let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(Order()) })
    guard case .undecodable(let thrown as Problem, _, _) = error else { Issue.record("\(error)"); return }
    #expect(error.serviceError(as: Problem.self) == thrown && error.statusCode == 200)
    #expect(error.localizedDescription == "Sold out.")
    #expect("\(error)".contains("Problem") && !"\(error)".contains("Sold"))
  }
}
