import Foundation
import Testing
@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Stores have a capacity and remove the least recently used responses first.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct ResponseStoreTests {
  static let fields = ["ETag": "\"1\"", "Set-Cookie": "a=secret", "Content-Encoding": "gzip", "X-Total": "7"]

  /// A response as a cache stores it.
  static func response(_ text: String = "x") async throws -> StoredResponse {
    let request = try ResponseCacheTests.request()
    let response = try await NetworkScript([.ok(text, headers: fields)]).networkResponse(for: request)
    return try #require(StoredResponse(response, to: request, requestedAt: Date()))
  }
  static func response(bytes: Int) async throws -> StoredResponse {
    try await response(String(repeating: "x", count: bytes))
  }

  static func withStores(_ capacity: Int, _ work: (ResponseStore) async throws -> Void) async throws {
    try await work(ResponseStore(capacity: capacity))
    let folder = try Folder()
    try await work(try ResponseStore(in: folder.file("cache"), capacity: capacity))
    withExtendedLifetime(folder) {}
  }
  static func keys(
    _ store: ResponseStore, _ keys: [ResponseKey] = ["a", "b", "c", "d", "e"]
  ) async -> [ResponseKey] {
    var found: [ResponseKey] = []
    for key in keys where await store.response(for: key) != nil { found.append(key) }
    return found
  }

  // MARK: Memory and disk

  @Test func removesTheLeastRecentlyUsedFirst() async throws {
    let response = try await Self.response(bytes: 10_000)
    try await Self.withStores(45_000) { store in
      for key: ResponseKey in ["a", "b", "c", "d"] { await store.store(response, for: key) }
      #expect(await store.response(for: "a") != nil)
      await store.store(response, for: "e")
      #expect(await Self.keys(store) == ["a", "c", "d", "e"])
      await store.remove("a")
      #expect(await Self.keys(store) == ["c", "d", "e"])
      await store.removeAll()
      #expect(await Self.keys(store).isEmpty)
    }
  }

  @Test func replacingAResponseTakesSpaceOnce() async throws {
    let response = try await Self.response(bytes: 10_000)
    try await Self.withStores(45_000) { store in
      for _ in 0..<10 { await store.store(response, for: "a") }
      for key: ResponseKey in ["b", "c", "d"] { await store.store(response, for: key) }
      #expect(await Self.keys(store) == ["a", "b", "c", "d"])
    }
  }

  @Test func removingFreesSpace() async throws {
    let response = try await Self.response(bytes: 10_000)
    try await Self.withStores(45_000) { store in
      for key: ResponseKey in ["a", "b", "c", "d"] { await store.store(response, for: key) }
      await store.remove("a")
      await store.remove("a")
      await store.store(response, for: "e")
      #expect(await Self.keys(store) == ["b", "c", "d", "e"])
      await store.removeAll()
      for key: ResponseKey in ["a", "b", "c", "d"] { await store.store(response, for: key) }
      #expect(await Self.keys(store) == ["a", "b", "c", "d"])
    }
  }

  @Test func removesAllResponsesOfAURLOnly() async throws {
    let response = try await Self.response()
    let url = "https://a.example/"
    let keys = [
      ResponseKey(url: url), ResponseKey(url: url, scope: "1"), ResponseKey(url: url, scope: "1", variant: "2"),
      ResponseKey(url: url, scope: "", variant: "1"), ResponseKey(url: url + "b", scope: "1"),
    ]
    try await Self.withStores(45_000) { store in
      for key in keys { await store.store(response, for: key) }
      await store.remove(keys[1])
      #expect(await Self.keys(store, keys) == [keys[0], keys[2], keys[3], keys[4]])
      await store.removeAll(for: url)
      #expect(await Self.keys(store, keys) == [keys[4]])
    }
  }

  /// What is noted of each use does not grow with the uses.
  @Test func readingDoesNotTakeMemory() async throws {
    let store = ResponseStore(capacity: 45_000)
    await store.store(try await Self.response(), for: "a")
    for _ in 0..<1000 { _ = await store.response(for: "a") }
    let memory = try #require(store.state.withLock { $0.storage } as? ResponseMemory)
    #expect(memory.entries.order.count < 200)
  }

  @Test func doesNotStoreAResponseOverAQuarterOfTheCapacity() async throws {
    let (large, small) = (try await Self.response(bytes: 10_000), try await Self.response())
    try await Self.withStores(30_000) { store in
      await store.store(small, for: "b")
      await store.store(small, for: "a")
      await store.store(large, for: "a")
      // Nor is the one that it was to replace.
      #expect(await Self.keys(store) == ["b"])
    }
    #expect(10_000..<11_000 ~= large.size)
    for (capacity, isKept) in [(large.size * 4, true), (large.size * 4 - 1, false)] {
      let store = ResponseStore(capacity: capacity)
      await store.store(large, for: "a")
      #expect((await store.response(for: "a") != nil) == isKept)
    }
    let bytes = try await Self.bytesOnDisk(large)
    for (capacity, isKept) in [(bytes * 4, true), (bytes * 4 - 1, false)] {
      let folder = try Folder()
      defer { withExtendedLifetime(folder) {} }
      let store = try ResponseStore(in: folder.url, capacity: capacity)
      await store.store(large, for: "a")
      #expect((await store.response(for: "a") != nil) == isKept)
    }
  }

  static func bytesOnDisk(_ response: StoredResponse) async throws -> Int {
    let folder = try Folder()
    try await ResponseStore(in: folder.url, capacity: 1_000_000).store(response, for: "a")
    return try Data(contentsOf: folder.file(try #require(folder.names.first))).count
  }
}
