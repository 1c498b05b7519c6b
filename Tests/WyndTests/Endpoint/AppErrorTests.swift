import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An error of the app that a member of an endpoint throws is kept, wherever it is thrown. A response that cannot be
/// parsed is seen in one place.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct AppErrorTests {
  struct Fault: LocalizedError, Equatable {
    var errorDescription: String? { "Choose a name first." }
  }
  struct Value: Encodable {
    func encode(to encoder: any Encoder) throws { throw Fault() }
  }
  enum Place: CaseIterable { case url, queryItems, body, encode, encodeForm, query, prepare }

  struct Call: Endpoint {
    typealias Response = Data
    let place: Place
    var host: String { "a.example" }
    var path: String { "/" }
    var method: NetworkMethod { .post }
    var url: URL {
      get throws {
        if place == .url { throw Fault() }
        return try defaultURL()
      }
    }
    private func defaultURL() throws -> URL {
      _ = try queryItems
      return .example
    }
    var queryItems: [URLQueryItem] {
      get throws {
        if place == .queryItems { throw Fault() }
        return []
      }
    }
    var body: RequestBody {
      get throws {
        switch place {
        case .body: throw Fault()
        case .encode: .json(Value())
        case .encodeForm: .form(Value())
        default: .empty
        }
      }
    }
    func prepare(request: inout URLRequest) throws { if place == .prepare { throw Fault() } }
  }

  @Test(arguments: Place.allCases) func keepsTheErrorOfTheApp(_ place: Place) async throws {
    let script = NetworkScript([.ok("x")])
    let error = await #expect(throws: NetworkError.self) {
      if place == .query {
        _ = try await script.load(.get("/x", query: .encoding(Value()), as: Data.self))
      } else {
        _ = try await script.load(Call(place: place))
      }
    }
    guard case .generalError(let own)? = error else { Issue.record("\(error as Any)"); return }
    #expect(own as? Fault == Fault() && error?.localizedDescription == "Choose a name first.")
    #expect(script.requests.isEmpty)
  }

  /// The log of an app says otherwise that all is well.
  @Test func eventTellsThatAResponseCannotBeParsed() async throws {
    for isHandler in [false, true] {
      for hasMiddleware in [false, true] {
        let log = EventLog()
        let script = NetworkScript([.status(503), .ok("<html>")])
        let client = NetworkClient(
          baseURL: .example, on: script, policy: .quick(onEvent: log.add),
          middleware: hasMiddleware ? [.around { try await $1($0) }] : [])
        if isHandler {
          let result = await handlerValue { client.load(.get("/x", as: [Int].self), completionHandler: $0) }
          #expect(result.error != nil)
        } else {
          _ = try? await client.load(.get("/x", as: [Int].self))
        }
        await until { log.events.last?.level == .error }
        guard case .undecodable(let error)? = log.events.last?.kind, case .undecodable = error else {
          Issue.record("\(log.events)")
          continue
        }
        #expect(log.events.last?.level == .error && log.events.last?.attempt == 2)
        #expect(log.events.map(\.callID).allSatisfy { $0 == log.events.first?.callID })
      }
    }
  }

  @Test(arguments: [[:], ["Cache-Control": "max-age=60"]]) func eventTellsThatAStoredResponseCannotBeParsed(
    _ fields: [String: String]
  ) async throws {
    let log = EventLog()
    let script = NetworkScript([.ok("<html>", headers: fields.merging(["ETag": "\"1\""]) { $1 }), .status(304)])
    let client = NetworkClient(baseURL: .example, on: ResponseCache(on: script), policy: .quick(onEvent: log.add))
    for _ in 0..<2 { _ = try? await client.load(.get("/x", as: [Int].self)) }
    await until { log.events.filter { if case .undecodable = $0.kind { true } else { false } }.count == 2 }
  }
}
