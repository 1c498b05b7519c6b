import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Bounded, the oldest use out first; on disk whole or not at all.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ResponseStoreTests {
  static func response(_ text: String) throws -> StoredResponse {
    let url = try #require(URL(string: "https://a.example/"))
    let head = try #require(
      HTTPURLResponse(
        url: url, statusCode: 200, httpVersion: nil,
        headerFields: ["ETag": "\"1\"", "Set-Cookie": "a=secret", "Content-Encoding": "gzip"]))
    return try #require(
      StoredResponse(
        NetworkResponse(data: Data(text.utf8), response: head), to: URLRequest(url: url), at: Date()))
  }

  static func folder() -> URL {
    FileManager.default.temporaryDirectory.appendingPathComponent("wynd-cache-\(UUID().uuidString)")
  }
  static func names(_ folder: URL) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  static func withStores(_ capacity: Int, _ work: (any ResponseStore) throws -> Void) throws {
    try work(MemoryStore(capacity: capacity))
    let folder = folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    try work(try DiskStore(folder, capacity: capacity))
  }

  @Test func whatWasUsedLongestAgoGoesFirst() throws {
    let response = try Self.response(String(repeating: "x", count: 10_000))
    try Self.withStores(45_000) { store in
      for key in ["a", "b", "c", "d"] { store.store(response, for: key) }
      #expect(store.response(for: "a") != nil)
      store.store(response, for: "e")
      #expect(["a", "b", "c", "d", "e"].map { store.response(for: $0) != nil } == [true, false, true, true, true])
      store.remove("a")
      #expect(store.response(for: "a") == nil && store.response(for: "c") != nil)
      store.removeAll()
      #expect(store.response(for: "c") == nil)
    }
  }

  @Test func oneThatWouldTakeAllTheRoomIsNotKept() throws {
    let response = try Self.response(String(repeating: "x", count: 10_000))
    try Self.withStores(20_000) { store in
      store.store(response, for: "a")
      #expect(store.response(for: "a") == nil)
    }
  }

  @Test func onDiskItIsThereForTheNextProcessWithTheOrderOfUse() throws {
    let folder = Self.folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let response = try Self.response(String(repeating: "x", count: 10_000))
    do {
      let store = try DiskStore(folder, capacity: 100_000)
      for key in ["a", "b", "c"] { store.store(response, for: key) }
      _ = store.response(for: "a")
    }
    let store = try DiskStore(folder, capacity: 25_000)
    #expect(["a", "b", "c"].map { store.response(for: $0) != nil } == [true, false, true])
    #expect(store.response(for: "a")?.header("etag") == "\"1\"")
    #expect(store.response(for: "a")?.header("Set-Cookie") == nil)
    #expect(Self.names(folder).count == 2)
  }

  @Test func whatCannotBeReadIsDroppedAndWhatIsLeftBehindRemoved() throws {
    let folder = Self.folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let response = try Self.response("x")
    let whole: Data
    do {
      let store = try DiskStore(folder)
      store.store(response, for: "a")
      whole = try Data(contentsOf: folder.appendingPathComponent(try #require(Self.names(folder).first)))
    }
    let name = try #require(Self.names(folder).first)
    let file = folder.appendingPathComponent(name)
    // As a write that was cut off at any byte, and bytes that were changed on the disk.
    for length in stride(from: 0, to: whole.count, by: 7) {
      try whole.prefix(length).write(to: file)
      let store = try DiskStore(folder)
      #expect(store.response(for: "a") == nil)
      #expect(!FileManager.default.fileExists(atPath: file.path))
    }
    for index in stride(from: 0, to: whole.count, by: 3) {
      var broken = whole
      broken[index] ^= 0xff
      try broken.write(to: file)
      _ = try DiskStore(folder).response(for: "a")
      for name in Self.names(folder) { try FileManager.default.removeItem(at: folder.appendingPathComponent(name)) }
    }
    for left in [
      "\(UUID().uuidString).partial", "readme", "..x", name.prefix(32) + ".-1",
      name.prefix(32) + ".99999999999999999999",
    ] {
      try whole.write(to: folder.appendingPathComponent(String(left)))
    }
    try whole.write(to: file)
    try whole.write(to: folder.appendingPathComponent(name.prefix(32) + ".77"))
    let store = try DiskStore(folder)
    #expect(store.response(for: "a")?.body == Data("x".utf8))
    // What is not its own is left alone.
    #expect(Self.names(folder).filter { $0.hasSuffix(".partial") }.isEmpty && Self.names(folder).count == 5)
  }

  @Test func anAnswerOfAnotherKeyIsNotServedForIt() throws {
    let folder = Self.folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try DiskStore(folder)
    store.store(try Self.response("x"), for: "a")
    let name = try #require(Self.names(folder).first)
    try FileManager.default.moveItem(
      at: folder.appendingPathComponent(name),
      to: folder.appendingPathComponent(ResponseCache.stableHash("b") + ".5"))
    #expect(try DiskStore(folder).response(for: "b") == nil)
  }

  @Test func aFolderThatCannotBeMadeIsAnError() throws {
    #expect(throws: (any Error).self) { try DiskStore(URL(fileURLWithPath: "/dev/null/cache")) }
  }
}
