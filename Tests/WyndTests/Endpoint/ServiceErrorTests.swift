import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One error type for a whole API: said once for the endpoints, and for a call without an endpoint type.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ServiceErrorTests {
  struct Problem: Decodable, LocalizedError, Equatable {
    var title: String
    var errorDescription: String? { title }
  }
  protocol ShopCall: Endpoint where ServiceError == Problem {}
  struct Order: ShopCall {
    typealias Response = String
    let path = "/order"
  }
  static let body = #"{"title":"Sold out."}"#

  static func client(_ steps: [NetworkScript.Step]) -> NetworkClient {
    NetworkClient(
      baseURL: URL(string: "https://a.example"), on: NetworkScript(steps), policy: RetryPolicy(maxRetries: 1))
  }

  @Test func protocolSetsTheServiceErrorOfItsEndpoints() async throws {
    let client = Self.client([.status(409, Self.body)])
    let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(Order()) })
    #expect(error.serviceError(as: Problem.self) == Problem(title: "Sold out.") && error.statusCode == 409)
  }

  /// A call that names no type: the body of the error is decoded when it is asked for.
  @Test(arguments: [400, 409, 503]) func decodesTheBodyOfAnErrorWhenItIsAsked(_ status: Int) async throws {
    let client = Self.client([.status(status, Self.body)])
    let error = try #require(
      await #expect(throws: NetworkError.self) { try await client.load(.get("/a", as: String.self)) })
    #expect(error.serviceError(as: Problem.self) == Problem(title: "Sold out.") && error.statusCode == status)
    #expect(error.serviceError(as: ShopError.self) == nil && error.serviceError(as: Int.self) == nil)
    #expect(error.serviceError(as: JSONValue.self)?["title"]?.string == "Sold out.")
  }

  @Test func decodesTheBodyOfAnErrorWithTheDecoderThatIsPassed() async throws {
    struct Late: Decodable, Equatable {
      var dueDate: Date
    }
    let client = Self.client([.status(409, #"{"due_date":"2026-11-21T16:00:00Z","dueDate":0}"#)])
    let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(.post("/a")) })
    #expect(error.serviceError(as: Late.self) == nil)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.dateDecodingStrategy = .iso8601
    #expect(error.serviceError(as: Late.self, decoder: decoder)?.dueDate.timeIntervalSince1970 == 1_795_276_800)
  }

  /// Even after retries, and with the advice of its author alone.
  @Test func localizedDescriptionIsThatOfTheServiceError() async throws {
    for (status, attempts) in [(409, 0), (503, 2)] {
      let client = Self.client([.status(status, Self.body)])
      let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(Order()) })
      #expect(error.attempts.count == attempts)
      #expect(error.localizedDescription == "Sold out." && error.errorDescription == "Sold out.")
      // The log has the type, and nothing of the body.
      #expect("\(error)".contains("Problem") && !"\(error)".contains("Sold"))
    }
  }
}
