import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A service described by endpoints, with a fault before each response.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct EndpointServiceTests {
  let session = URLSession(configuration: .default)
  let shop = Shop()

  @Test func listsCreatesUpdatesAndDeletesDespiteFaults() async throws {
    let server = try shop.server()
    #expect(try await session.load(PetList(server: server)).map(\.name) == ["Bella", "Rex"])
    #expect(try await session.load(.pet(1, on: server)) == Pet(id: 1, name: "Bella", age: 3))
    let creation = PetCreation(server: server, name: "Jürgen 🐕", key: UUID())
    let created = try await session.load(creation)
    #expect(created == Pet(id: 3, name: "Jürgen 🐕"))
    #expect(shop.count == 3)
    #expect(try await session.load(creation) == created, "the same key is the same pet")
    #expect(try await session.load(PetUpdate(server: server, pet: Pet(id: 3, name: "J", age: 1))) == nil)
    #expect(try await session.load(.pet(3, on: server)) == Pet(id: 3, name: "J", age: 1))
    try await session.load(PetDeletion(server: server, id: 3))
    #expect(shop.count == 2)
  }

  @Test func sendsTheRequestOfTheEndpoint() async throws {
    let server = try LoopbackServer(script: Shop.json(Pet(id: 9, name: "x")))
    _ = try await session.load(PetCreation(server: server, name: "x", key: UUID()))
    let request = try #require(server.requests.first)
    #expect(request.method == "POST")
    #expect(request.target == "/pets")
    #expect(request.value("Content-Type") == "application/json")
    #expect(request.value("Accept") == "application/json")
    #expect(request.value("Idempotency-Key")?.count == 38)
    #expect(request.text == #"{"name":"x"}"#)
  }

  @Test func throwsATypedServiceError() async throws {
    let server = try shop.server()
    do throws(NetworkError) {
      _ = try await session.load(.pet(99, on: server))
      Issue.record("there is no pet 99")
    } catch {
      guard case .serviceError(let typed, let response, let data) = error else { Issue.record("\(error)"); return }
      #expect(typed as? ShopError == ShopError(code: "pet.unknown", message: "There is no such pet."))
      #expect(response.statusCode == 404)
      #expect(String(decoding: data, as: UTF8.self).contains("pet.unknown"))
      #expect(error.statusCode == 404)
      #expect(error.data == data)
      #expect(error.serviceError(as: ShopError.self)?.code == "pet.unknown")
    }
  }

  @Test func findsTheServiceErrorAfterRetries() async throws {
    let server = try LoopbackServer(script: .status(503, body: #"{"code":"busy","message":"later"}"#))
    do throws(NetworkError) {
      _ = try await session.load(.pet(1, on: server), policy: RetryPolicy(maxRetries: 1))
    } catch {
      #expect(error.stopReason == .maxRetries)
      #expect(error.serviceError(as: ShopError.self)?.code == "busy")
      #expect(error.statusCode == 503)
      #expect(server.requests.count == 2)
    }
  }

  @Test(arguments: ["<html>", "{}", ""]) func keepsAnErrorBodyThatIsNoServiceError(_ body: String) async throws {
    let server = try LoopbackServer(script: .status(400, body: body))
    do throws(NetworkError) {
      _ = try await session.load(.pet(1, on: server))
    } catch {
      guard case .endpointError(let response, let data) = error else { Issue.record("\(error)"); return }
      #expect(response.statusCode == 400)
      #expect(data ?? Data() == Data(body.utf8))
    }
  }

  @Test func sendsAFileAgainAfterEachFault() async throws {
    let folder = FileManager.default.temporaryDirectory
    let file = folder.appendingPathComponent("photo-\(UUID().uuidString).jpg")
    let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try Data(bytes).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let photo = PetPhoto(server: try shop.server(), id: 1, file: file)
    for _ in 0..<3 {
      let response = try await session.load(photo)
      #expect(response["type"]?.string == "multipart/form-data")
      let sent = try #require(shop.photo)
      #expect(response["bytes"]?.integer == sent.count)
      let text = String(decoding: sent.prefix(400), as: UTF8.self)
      #expect(text.contains("Content-Disposition: form-data; name=\"title\"\r\n\r\nÜber \"B\"\r\n--wynd-"))
      #expect(
        text.contains("name=\"photo\"; filename=\"\(file.lastPathComponent)\"\r\nContent-Type: image/jpeg\r\n\r\n"))
      #expect(Data(sent).range(of: Data(bytes)) != nil)
    }
    #expect(photo.server.requests.allSatisfy { $0.value("Content-Length") == "\($0.body.count)" })
  }

  @Test func sendsNothingForAMissingFile() async throws {
    let photo = PetPhoto(server: try shop.server(), id: 1, file: URL(fileURLWithPath: "/nowhere.jpg"))
    do throws(NetworkError) {
      _ = try await session.load(photo)
      Issue.record("there is no such file")
    } catch {
      guard case .transferFailed(TransferError.unusableFile) = error else { Issue.record("\(error)"); return }
      #expect(photo.server.requests.isEmpty)
    }
  }

  @Test func cancelsACallWithAFileBeforeItStarts() async throws {
    let photo = PetPhoto(server: try shop.server(), id: 1, file: URL(fileURLWithPath: #filePath))
    let queue = OperationQueue()
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    let result: Result<JSONValue, NetworkError> = await withCheckedContinuation { continuation in
      let task = session.load(photo) { continuation.resume(returning: $0) }
      task.cancel()
    }
    guard case .failure(.cancelled) = result else { Issue.record("\(result)"); return }
  }

  // MARK: The three forms

  @Test func callsHandlerOnTheDelegateQueue() async throws {
    let server = try shop.server()
    let queue = OperationQueue()
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    let pet: Result<Pet, NetworkError> = await withCheckedContinuation { continuation in
      session.load(.pet(2, on: server)) { result in
        #expect(OperationQueue.current === queue)
        continuation.resume(returning: result)
      }
    }
    #expect(try pet.get().name == "Rex")
    // So does an endpoint of which no request can be made.
    let nothing: Result<String, NetworkError> = await withCheckedContinuation { continuation in
      let task = session.load(Hostless()) { result in
        #expect(OperationQueue.current === queue)
        continuation.resume(returning: result)
      }
      task.cancel()
    }
    guard case .failure(.invalidRequest(let reason)) = nothing else { Issue.record("\(nothing)"); return }
    #expect(reason == "the call names no host, and the base URL is nil")
  }

  struct Hostless: Endpoint {
    typealias Response = String
    let path = "/x"
  }

  @Test func loadResponseReturnsHeadersAndAttempts() async throws {
    let server = try shop.server()
    let response = try await session.loadResponse(PetList(server: server, page: 2))
    #expect(response.response.value(forHTTPHeaderField: "X-Total") == "2")
    #expect(response.value.count == 2)
    #expect(response.attempts.count == 2)
    #expect(!response.data.isEmpty)
    #expect(server.requests.first?.target == "/pets?page=2")
    let total: String? = await withCheckedContinuation { continuation in
      session.loadResponse(PetList(server: server)) { result in
        continuation.resume(returning: (try? result.get())?.response.value(forHTTPHeaderField: "X-Total"))
      }
    }
    #expect(total == "2")
  }

  @Test func policyOfTheCallOverridesThatOfTheEndpoint() async throws {
    let server = try LoopbackServer(script: .status(503))
    let log = EventLog()
    await #expect(throws: NetworkError.self) {
      _ = try await session.load(.pet(1, on: server), policy: RetryPolicy(maxRetries: 0, onEvent: log.add))
    }
    #expect(log.gaveUp == .maxRetries)
    #expect(server.requests.count == 1)
    await #expect(throws: NetworkError.self) {
      _ = try await session.load(
        .pet(1, on: server), policy: RetryPolicy(maxRetries: 2, backoff: .immediate, budget: .unlimited))
    }
    #expect(server.requests.count == 4)
  }

  @Test func cancelsALoad() async throws {
    let server = try LoopbackServer(script: .hang)
    let task = Task { [session] in try await session.load(.pet(1, on: server)) }
    await until { server.requests.count == 1 }
    task.cancel()
    guard case .failure(let error as NetworkError) = await task.result, error.isCancelled else {
      Issue.record("not cancelled")
      return
    }
  }
}
