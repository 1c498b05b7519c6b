import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Stores have a capacity and remove the least recently used responses first.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ResponseStoreTests {
  /// Keeps the last response that a cache stored.
  final class Catcher: ResponseStore {
    let last = Box<StoredResponse>()
    func response(for key: ResponseKey) -> StoredResponse? { nil }
    func store(_ response: StoredResponse, for key: ResponseKey) { last.value = response }
    func remove(_ key: ResponseKey) {}
    func removeAll(for url: String) {}
    func removeAll() {}
  }

  static let fields = ["ETag": "\"1\"", "Set-Cookie": "a=secret", "Content-Encoding": "gzip", "X-Total": "7"]

  /// A response as a cache stores it.
  static func response(_ text: String = "x") async throws -> StoredResponse {
    let catcher = Catcher()
    let client = ResponseCacheTests.client(ResponseCache(catcher, on: NetworkScript([.ok(text, headers: fields)])))
    _ = try await client.performNetworkRequest(try ResponseCacheTests.request())
    return try #require(catcher.last.value)
  }
  static func response(bytes: Int) async throws -> StoredResponse {
    try await response(String(repeating: "x", count: bytes))
  }

  static func withStores(_ capacity: Int, _ work: (any ResponseStore) throws -> Void) throws {
    try work(MemoryStore(capacity: capacity))
    let folder = try Folder()
    try work(try DiskStore(folder.file("cache"), capacity: capacity))
    withExtendedLifetime(folder) {}
  }
  static func keys(
    _ store: any ResponseStore, _ keys: [ResponseKey] = ["a", "b", "c", "d", "e"]
  ) -> [ResponseKey] {
    keys.filter { store.response(for: $0) != nil }
  }

  // MARK: Memory and disk

  @Test func removesTheLeastRecentlyUsedFirst() async throws {
    let response = try await Self.response(bytes: 10_000)
    try Self.withStores(45_000) { store in
      for key: ResponseKey in ["a", "b", "c", "d"] { store.store(response, for: key) }
      #expect(store.response(for: "a") != nil)
      store.store(response, for: "e")
      #expect(Self.keys(store) == ["a", "c", "d", "e"])
      store.remove("a")
      #expect(Self.keys(store) == ["c", "d", "e"])
      store.removeAll()
      #expect(Self.keys(store).isEmpty)
    }
  }

  /// Uses of one response, and removed ones, must not push another one out.
  @Test func keepsTheOrderAfterManyUses() async throws {
    let response = try await Self.response(bytes: 10_000)
    try Self.withStores(45_000) { store in
      for key: ResponseKey in ["a", "b", "c", "d"] { store.store(response, for: key) }
      for _ in 0..<300 { _ = store.response(for: "b") }
      for _ in 0..<300 {
        store.remove("c")
        store.store(response, for: "c")
      }
      store.store(response, for: "e")
      #expect(Self.keys(store) == ["b", "c", "d", "e"])
      store.store(response, for: "a")
      #expect(Self.keys(store) == ["a", "c", "d", "e"])
    }
  }

  /// A store of many small responses that is full removes one for each new one.
  @Test func storingTakesTheSameTimeInALargeStore() async throws {
    let response = try await Self.response()
    func time(_ count: Int) -> Duration {
      let store = MemoryStore(capacity: response.size * count)
      for number in 0..<count { store.store(response, for: ResponseKey(url: "\(number)")) }
      let rounds = (1...5).map { round in
        ContinuousClock().measure {
          for number in 0..<200 { store.store(response, for: ResponseKey(url: "\(round) \(number)")) }
        }
      }
      return rounds.min() ?? .zero
    }
    // A search among all of them would take 100 times as long.
    #expect(time(50_000) < time(500) * 15)
  }

  @Test func storingCountsAsUse() async throws {
    let response = try await Self.response(bytes: 10_000)
    try Self.withStores(45_000) { store in
      for key: ResponseKey in ["a", "b", "c", "d", "a", "e"] { store.store(response, for: key) }
      #expect(Self.keys(store) == ["a", "c", "d", "e"])
    }
  }

  @Test func replacingAResponseTakesSpaceOnce() async throws {
    let response = try await Self.response(bytes: 10_000)
    try Self.withStores(45_000) { store in
      for _ in 0..<10 { store.store(response, for: "a") }
      for key: ResponseKey in ["b", "c", "d"] { store.store(response, for: key) }
      #expect(Self.keys(store) == ["a", "b", "c", "d"])
    }
  }

  @Test func removingFreesSpace() async throws {
    let response = try await Self.response(bytes: 10_000)
    try Self.withStores(45_000) { store in
      for key: ResponseKey in ["a", "b", "c", "d"] { store.store(response, for: key) }
      store.remove("a")
      store.remove("a")
      store.store(response, for: "e")
      #expect(Self.keys(store) == ["b", "c", "d", "e"])
      store.removeAll()
      for key: ResponseKey in ["a", "b", "c", "d"] { store.store(response, for: key) }
      #expect(Self.keys(store) == ["a", "b", "c", "d"])
    }
  }

  @Test func removesAllResponsesOfAURLOnly() async throws {
    let response = try await Self.response()
    let url = "https://a.example/"
    let keys = [
      ResponseKey(url: url), ResponseKey(url: url, scope: "1"), ResponseKey(url: url, scope: "1", variant: "2"),
      ResponseKey(url: url, variant: "1"), ResponseKey(url: url + "b", scope: "1"),
    ]
    try Self.withStores(45_000) { store in
      for key in keys { store.store(response, for: key) }
      store.remove(keys[1])
      #expect(Self.keys(store, keys) == [keys[0], keys[2], keys[3], keys[4]])
      store.removeAll(for: url)
      #expect(Self.keys(store, keys) == [keys[4]])
    }
  }

  @Test func doesNotStoreAResponseOverAQuarterOfTheCapacity() async throws {
    let (large, small) = (try await Self.response(bytes: 10_000), try await Self.response())
    try Self.withStores(30_000) { store in
      store.store(small, for: "b")
      store.store(small, for: "a")
      store.store(large, for: "a")
      // Nor is the one that it was to replace.
      #expect(Self.keys(store) == ["b"])
    }
    #expect(10_000..<11_000 ~= large.size)
    for (capacity, isKept) in [(large.size * 4, true), (large.size * 4 - 1, false)] {
      let store = MemoryStore(capacity: capacity)
      store.store(large, for: "a")
      #expect((store.response(for: "a") != nil) == isKept)
    }
    let bytes = try Self.bytesOnDisk(large)
    for (capacity, isKept) in [(bytes * 4, true), (bytes * 4 - 1, false)] {
      let folder = try Folder()
      defer { withExtendedLifetime(folder) {} }
      let store = try DiskStore(folder.url, capacity: capacity)
      store.store(large, for: "a")
      #expect((store.response(for: "a") != nil) == isKept)
    }
  }

  static func bytesOnDisk(_ response: StoredResponse) throws -> Int {
    let folder = try Folder()
    try DiskStore(folder.url).store(response, for: "a")
    return try Data(contentsOf: folder.file(try #require(folder.names.first))).count
  }

  @Test func usesTheWholeCapacity() async throws {
    let response = try await Self.response(bytes: 10_000)
    let bytes = try Self.bytesOnDisk(response)
    let capacities: [(missing: Int, kept: [ResponseKey])] = [(0, ["a", "b", "c", "d"]), (1, [])]
    for (missing, kept) in capacities {
      let folder = try Folder()
      defer { withExtendedLifetime(folder) {} }
      let stores: [any ResponseStore] = [
        MemoryStore(capacity: response.size * 4 - missing),
        try DiskStore(folder.url, capacity: bytes * 4 - missing),
      ]
      for store in stores {
        for key: ResponseKey in ["x", "y", "a", "b", "c", "d"] { store.store(response, for: key) }
        #expect(Self.keys(store, ["x", "y", "a", "b", "c", "d"]) == kept)
      }
    }
  }

  /// 20 MB in memory, 50 MB on disk, a quarter of it for one response.
  @Test func defaultCapacitiesAre20And50Megabytes() async throws {
    let (fits, small) = (try await Self.response(bytes: 4_990_000), try await Self.response(bytes: 5_010_000))
    let memory = MemoryStore()
    memory.store(fits, for: "a")
    memory.store(small, for: "b")
    #expect(Self.keys(memory) == ["a"])
    let folder = try Folder()
    defer { withExtendedLifetime(folder) {} }
    let disk = try DiskStore(folder.url)
    disk.store(try await Self.response(bytes: 12_510_000), for: "b")
    #expect(folder.names.isEmpty)
    disk.store(try await Self.response(bytes: 12_490_000), for: "a")
    #expect(folder.names.count == 1)
  }
}

extension ResponseKey: ExpressibleByStringLiteral {
  /// A key for a URL.
  public init(stringLiteral url: String) { self.init(url: url) }
}
