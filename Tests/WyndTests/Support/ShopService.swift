import Foundation
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// MARK: A small service, as an app would describe it

nonisolated struct Pet: Codable, Sendable, Equatable {
  var id: Int
  var name: String
  var age: Int?
}

nonisolated struct ShopError: Decodable, Error, Equatable {
  var code: String
  var message: String
}

protocol ShopEndpoint: Endpoint where ServiceError == ShopError {
  var server: LoopbackServer { get }
}
extension ShopEndpoint {
  var scheme: String { "http" }
  var host: String { "127.0.0.1" }
  var port: Int? { Int(server.port) }
  var policy: RetryPolicy { RetryPolicy(backoff: .immediate, budget: .unlimited) }
}

struct PetList: ShopEndpoint {
  typealias Response = [Pet]
  let server: LoopbackServer
  var page = 1
  var path: String { "/pets" }
  var queryItems: [URLQueryItem] { [URLQueryItem(name: "page", value: "\(page)")] }
}
struct PetItem: ShopEndpoint {
  typealias Response = Pet
  let server: LoopbackServer
  let id: Int
  var path: String { "/pets/\(id)" }
}
struct PetCreation: ShopEndpoint {
  typealias Response = Pet
  let server: LoopbackServer
  let name: String
  let key: UUID
  var path: String { "/pets" }
  var method: NetworkMethod { .post }
  var headers: [NetworkHeader] { [.idempotencyKey("\(key)")] }
  var body: RequestBody { .json(["name": name]) }
}
struct PetUpdate: ShopEndpoint {
  typealias Response = Pet?
  let server: LoopbackServer
  let pet: Pet
  var path: String { "/pets/\(pet.id)" }
  var method: NetworkMethod { .put }
  var body: RequestBody { .json(pet) }
}
struct PetDeletion: ShopEndpoint {
  typealias Response = Void
  let server: LoopbackServer
  let id: Int
  var path: String { "/pets/\(id)" }
  var method: NetworkMethod { .delete }
}
struct PetPhoto: ShopEndpoint {
  typealias Response = JSONValue
  let server: LoopbackServer
  let id: Int
  let file: URL
  var path: String { "/pets/\(id)/photo" }
  var method: NetworkMethod { .put }
  var body: RequestBody {
    .multipart([.init(name: "title", value: "Über \"B\""), .init(name: "photo", file: file, contentType: "image/jpeg")])
  }
}

extension Endpoint where Self == PetItem {
  static func pet(_ id: Int, on server: LoopbackServer) -> Self { PetItem(server: server, id: id) }
}

/// The server of a shop, with a fault before every response.
final class Shop: @unchecked Sendable {
  private let lock = NSLock()
  private var pets = [1: Pet(id: 1, name: "Bella", age: 3), 2: Pet(id: 2, name: "Rex", age: nil)]
  private var keys: [String: Pet] = [:]
  private var photos: [[UInt8]] = []
  var photo: [UInt8]? { lock.withLock { photos.last } }
  var count: Int { lock.withLock { pets.count } }

  static let faults: [ScriptedResponse] = [
    .reset, .status(503), .truncated, .close, .garbage, .status(502, body: "<html>bad gateway</html>"), .brokenChunk,
  ]

  func server() throws -> LoopbackServer {
    try LoopbackServer { [self] request in
      // Every other request meets a fault; a POST too, but after it was applied, which only its key makes harmless.
      let response = response(to: request)
      return request.index.isMultiple(of: 2) ? Self.faults[request.index / 2 % Self.faults.count] : response
    }
  }

  private func response(to request: LoopbackServer.Request) -> ScriptedResponse {
    lock.withLock {
      let parts = request.target.split { $0 == "/" || $0 == "?" }.map(String.init)
      let id = parts.count > 1 ? Int(parts[1]) : nil
      switch (request.method, id) {
      case ("GET", nil): return Self.json(pets.values.sorted { $0.id < $1.id }, [("X-Total", "\(pets.count)")])
      case ("POST", nil):
        let key = request.value("Idempotency-Key") ?? ""
        guard let name = (try? JSONDecoder().decode(JSONValue.self, from: Data(request.body)))?["name"]?.string,
          !name.isEmpty
        else { return .status(422, body: #"{"code":"name.empty","message":"A pet needs a name."}"#) }
        let pet = keys[key] ?? Pet(id: pets.count + 1, name: name)
        keys[key] = pet
        pets[pet.id] = pet
        return Self.json(pet)
      case ("GET", let id?):
        return pets[id].map { Self.json($0) }
          ?? .status(404, body: #"{"code":"pet.unknown","message":"There is no such pet."}"#)
      case ("PUT", let id?) where parts.count == 2:
        pets[id] = try? JSONDecoder().decode(Pet.self, from: Data(request.body))
        return .status(204)
      case ("PUT", _):
        photos.append(request.body)
        return .ok(#"{"bytes": \#(request.body.count), "type": "\#(request.value("Content-Type")?.prefix(19) ?? "")"}"#)
      case ("DELETE", let id?):
        pets[id] = nil
        return .status(200)
      default: return .status(405)
      }
    }
  }

  static func json(_ value: some Encodable, _ headers: [(String, String)] = []) -> ScriptedResponse {
    let data = (try? JSONEncoder().encode(value)) ?? Data()
    return .status(200, headers + [("Content-Type", "application/json")], body: String(decoding: data, as: UTF8.self))
  }
}

/// An endpoint that sets only the path.
struct PlainPath: Endpoint {
  typealias Response = Void
  var host: String { "example.com" }
  var path: String
}
