import Foundation
import Testing
@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A disk store returns complete files only, including those of an earlier process.
extension ResponseStoreTests {
  @Test func diskStoreKeepsResponsesAndTheirOrderOfUse() async throws {
    let folder = try Folder()
    let response = try await Self.response(bytes: 10_000)
    do {
      let store = try ResponseStore(in: folder.url, capacity: 100_000)
      for key: ResponseKey in ["a", "b", "c", "d", "e"] { await store.store(response, for: key) }
      _ = await store.response(for: "a")
    }
    let store = try ResponseStore(in: folder.url, capacity: 45_000)
    // Nothing of the folder is read before the first use.
    #expect(folder.names.count == 5)
    #expect(await Self.keys(store) == ["a", "c", "d", "e"])
    #expect(folder.names.count == 4)
  }

  @Test func responseOfANewProcessIsTheMostRecent() async throws {
    let folder = try Folder()
    let response = try await Self.response(bytes: 10_000)
    do {
      let store = try ResponseStore(in: folder.url, capacity: 45_000)
      await store.store(response, for: "a")
      // More uses than there are responses.
      for _ in 0..<5 { _ = await store.response(for: "a") }
    }
    do {
      let store = try ResponseStore(in: folder.url, capacity: 45_000)
      for key: ResponseKey in ["b", "c", "d"] { await store.store(response, for: key) }
    }
    let store = try ResponseStore(in: folder.url, capacity: 45_000)
    await store.store(response, for: "e")
    #expect(await Self.keys(store) == ["b", "c", "d", "e"])
  }

  @Test func keepsOneFileForEachKey() async throws {
    let folder = try Folder()
    let store = try ResponseStore(in: folder.url, capacity: 1_000_000)
    for text in ["one", "two", "three"] { await store.store(try await Self.response(text), for: "a") }
    #expect(folder.names.count == 1)
    _ = await store.response(for: "a")
    #expect(folder.names.count == 1)
    await store.store(try await Self.response(), for: "b")
    await store.remove("a")
    #expect(folder.names.count == 1)
    await store.removeAll()
    #expect(folder.names.isEmpty)
  }

  @Test func filesAreReadableByTheUserOnly() async throws {
    let folder = try Folder()
    let cache = folder.file("cache/a")
    try await ResponseStore(in: cache, capacity: 1_000_000).store(try await Self.response(), for: "a")
    let names = try FileManager.default.contentsOfDirectory(atPath: cache.path)
    func permissions(_ url: URL) throws -> Int? {
      (try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber)?.intValue
    }
    #expect(try permissions(cache) == 0o700)
    #expect(try permissions(cache.appending(path: try #require(names.first))) == 0o600)
    // A folder that exists is the app's.
    let ofTheApp = folder.file("shared")
    try FileManager.default.createDirectory(
      at: ofTheApp, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o751])
    try await ResponseStore(in: ofTheApp, capacity: 1_000_000).store(try await Self.response(), for: "a")
    #expect(try permissions(ofTheApp) == 0o751)
  }

  @Test func leavesNoFileOfAResponseThatIsTooLarge() async throws {
    let folder = try Folder()
    let store = try ResponseStore(in: folder.url, capacity: 20_000)
    await store.store(try await Self.response(), for: "a")
    await store.store(try await Self.response(bytes: 10_000), for: "a")
    #expect(await store.response(for: "a") == nil && folder.names.isEmpty)
  }

  @Test func removesATruncatedFile() async throws {
    let folder = try Folder()
    try await ResponseStore(in: folder.url, capacity: 1_000_000).store(try await Self.response(), for: "a")
    let file = folder.file(try #require(folder.names.first))
    let whole = try Data(contentsOf: file)
    for length in stride(from: 0, to: whole.count, by: 7) {
      try whole.prefix(length).write(to: file)
      #expect(try await ResponseStore(in: folder.url, capacity: 1_000_000).response(for: "a") == nil)
      #expect(folder.names.isEmpty)
    }
  }

  @Test func usesTheNewestFileOfAKeyAndKeepsOtherFiles() async throws {
    let folder = try Folder()
    try await ResponseStore(in: folder.url, capacity: 1_000_000).store(try await Self.response("new"), for: "a")
    let name = try #require(folder.names.first)
    let key = name.prefix(32)
    let other = try Folder()
    try await ResponseStore(in: other.url, capacity: 1_000_000).store(try await Self.response("old"), for: "a")
    let old = try Data(contentsOf: other.file(try #require(other.names.first)))
    let strangers = ["readme", "..x", "\(key).-1", "\(key).99999999999999999999", "\(key).\(Int.max)"]
    for left in strangers { try old.write(to: folder.file(left)) }
    try FileManager.default.moveItem(at: folder.file(name), to: folder.file("\(key).77"))
    try old.write(to: folder.file("\(key).7"))
    let store = try ResponseStore(in: folder.url, capacity: 1_000_000)
    await store.remove("b")
    #expect(folder.names == (strangers + ["\(key).77"]).sorted())
    #expect(try #require(await store.response(for: "a")).size == (try await Self.response("new")).size)
    let stored = try #require(await store.response(for: "a"))
    #expect(try stored.served(as: .cache, allowEmptyData: true).data == Data("new".utf8))
  }

  /// The earlier response would be served as if it were the newest.
  @Test func responseThatCannotBeWrittenReplacesTheEarlierOne() async throws {
    let folder = try Folder()
    let store = try ResponseStore(in: folder.url, capacity: 1_000_000)
    await store.store(try await Self.response("old"), for: "a")
    let name = try #require(folder.names.first)
    // A file cannot be written where a folder is.
    for use in 2...9 {
      try FileManager.default.createDirectory(
        at: folder.file("\(name.prefix(32)).\(use)"), withIntermediateDirectories: false)
    }
    await store.store(try await Self.response("new"), for: "a")
    #expect(await store.response(for: "a") == nil)
    #expect(!folder.names.contains(name))
  }

  @Test func doesNotServeAFileRenamedToAnotherKey() async throws {
    let (folder, other) = (try Folder(), try Folder())
    try await ResponseStore(in: folder.url, capacity: 1_000_000).store(try await Self.response(), for: "a")
    try await ResponseStore(in: other.url, capacity: 1_000_000).store(try await Self.response(), for: "b")
    let (mine, yours) = (try #require(folder.names.first), try #require(other.names.first))
    #expect(mine.prefix(32) != yours.prefix(32))
    try FileManager.default.moveItem(at: folder.file(mine), to: folder.file(yours))
    #expect(try await ResponseStore(in: folder.url, capacity: 1_000_000).response(for: "b") == nil)
    #expect(folder.names.isEmpty)
  }

  @Test func doesNotWriteUserAndPasswordToDisk() async throws {
    let folder = try Folder()
    let script = NetworkScript { _, number in .ok("\(number)", headers: ResponseCacheTests.fresh) }
    let cached = ResponseCacheTests.CachedClient(script, cache: try ResponseCache(in: folder.url, on: script))
    for source in [NetworkResponseSource.network, .cache] {
      for (text, user) in [("0", "ann"), ("1", "bob")] {
        let url = try #require(URL(string: "https://\(user):secret@a.example/"))
        #expect(try await cached.response(URLRequest(url: url)) == (text, source))
      }
    }
    #expect(folder.names.count == 2)
    for name in folder.names {
      let bytes = try Data(contentsOf: folder.file(name))
      #expect(["ann", "bob", "secret"].allSatisfy { bytes.range(of: Data($0.utf8)) == nil })
    }
  }

  /// Another process, such as an extension of the app, uses the folder, and so renames its files.
  @Test func opensAFolderWhoseFilesAreBeingRenamed() async throws {
    let folder = try Folder()
    let count = 200
    let names = (0..<count).map { String(format: "%032x", $0) }
    for name in names { try Data("x".utf8).write(to: folder.file("\(name).1")) }
    let uses = Box(1)
    let isDone = Box(false)
    let renaming = Task.detached {
      while isDone.value == false, let use = uses.value {
        for name in names { rename(folder.file("\(name).\(use)").path, folder.file("\(name).\(use + 1)").path) }
        uses.value = use + 1
      }
    }
    await until { uses.value != 1 }
    while uses.value ?? 0 < 20 {
      #expect(throws: Never.self) { try ResponseStore(in: folder.url, capacity: 1_000_000) }
    }
    isDone.value = true
    await renaming.value
  }

  /// At a sign-out, nothing of the user may remain.
  @Test func removeAllRemovesFilesOfAnotherStore() async throws {
    let folder = try Folder()
    let (one, other) = (
      try ResponseStore(in: folder.url, capacity: 1_000_000), try ResponseStore(in: folder.url, capacity: 1_000_000)
    )
    await one.store(try await Self.response(), for: "a")
    await other.store(try await Self.response(), for: "b")
    try Data().write(to: folder.file("readme"))
    await one.removeAll()
    #expect(folder.names == ["readme"])
    #expect(await other.response(for: "b") == nil)
  }

  /// As without a free descriptor. The files of an earlier process are found with a later use.
  @Test func listsAFolderThatCouldNotBeListed() async throws {
    let folder = try Folder()
    let (used, away) = (folder.file("used"), folder.file("away"))
    try await ResponseStore(in: used, capacity: 1_000_000).store(try await Self.response(), for: "a")
    let store = try ResponseStore(in: used, capacity: 1_000_000)
    try FileManager.default.moveItem(at: used, to: away)
    #expect(await store.response(for: "a") == nil)
    try FileManager.default.moveItem(at: away, to: used)
    #expect(await store.response(for: "a") != nil)
  }

  /// The user or the system removes the caches of the app while it runs.
  @Test func storesAgainAfterTheFolderWasRemoved() async throws {
    let folder = try Folder()
    let cache = folder.file("cache")
    let store = try ResponseStore(in: cache, capacity: 1_000_000)
    await store.store(try await Self.response("old"), for: "a")
    try FileManager.default.removeItem(at: cache)
    for key: ResponseKey in ["b", "c"] { await store.store(try await Self.response(), for: key) }
    #expect(await Self.keys(store) == ["b", "c"])
    let permissions = try FileManager.default.attributesOfItem(atPath: cache.path)[.posixPermissions]
    #expect((permissions as? NSNumber)?.intValue == 0o700)
  }

  /// A file in place of the folder stands for a full disk.
  @Test func responseThatWasNotWrittenTakesNoCapacity() async throws {
    let folder = try Folder()
    let (cache, moved) = (folder.file("cache"), folder.file("moved"))
    let response = try await Self.response(bytes: 10_000)
    let store = try ResponseStore(in: cache, capacity: 45_000)
    await store.store(response, for: "a")
    try FileManager.default.moveItem(at: cache, to: moved)
    try Data().write(to: cache)
    for key: ResponseKey in ["b", "c", "d", "e"] { await store.store(response, for: key) }
    try FileManager.default.removeItem(at: cache)
    try FileManager.default.moveItem(at: moved, to: cache)
    #expect(await Self.keys(store) == ["a"])
  }

  @Test func throwsWhenTheFolderCannotBeCreated() throws {
    #expect(throws: (any Error).self) {
      try ResponseStore(in: URL(fileURLWithPath: "/dev/null/cache"), capacity: 1_000_000)
    }
  }

  @Test func doesNotServeAFileWithChangedBytes() async throws {
    let folder = try Folder()
    let body = String(repeating: "abc ", count: 100)
    let script = NetworkScript([.ok(body, headers: ResponseCacheTests.fresh)])
    let cached = ResponseCacheTests.CachedClient(script, cache: try ResponseCache(in: folder.url, on: script))
    _ = try await cached.get()
    let file = folder.file(try #require(folder.names.first))
    let whole = try Data(contentsOf: file)
    for index in stride(from: 0, to: whole.count, by: 11) {
      var broken = whole
      broken[index] ^= 0x01
      try broken.write(to: file)
      let sending = NetworkScript([.ok("sent")])
      let other = ResponseCacheTests.CachedClient(sending, cache: try ResponseCache(in: folder.url, on: sending))
      #expect(try await other.get() == ("sent", .network), "\(index)")
      for name in folder.names { try FileManager.default.removeItem(at: folder.file(name)) }
    }
  }

  @Test func keepsAResponseWhoseFileCannotBeRenamed() async throws {
    let folder = try Folder()
    let store = try ResponseStore(in: folder.url, capacity: 1_000_000)
    await store.store(try await Self.response(), for: "a")
    let name = try #require(folder.names.first)
    try FileManager.default.createDirectory(
      at: folder.file("\(name.prefix { $0 != "." }).2"), withIntermediateDirectories: false)
    for _ in 0..<3 { #expect(await store.response(for: "a") != nil) }
  }

  /// A pipe would never be read to its end, and a link leads to a file of someone else.
  @Test func neitherOpensNorRemovesWhatIsNotItsFile() async throws {
    let folder = try Folder()
    let outside = try Folder()
    try await ResponseStore(in: outside.url, capacity: 1_000_000).store(try await Self.response(), for: "b")
    let theirs = try #require(outside.names.first)
    let name = String(repeating: "0", count: 32)
    #expect(mkfifo(folder.file("\(name).3").path, 0o600) == 0)
    let link = folder.file(theirs)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: outside.file(theirs))
    for path in ["\(name).4", "backup.2024"] {
      try FileManager.default.createDirectory(at: folder.file(path), withIntermediateDirectories: true)
    }
    for path in ["backup.2024/a", "libssl.3", "report.1"] { try Data("x".utf8).write(to: folder.file(path)) }
    let strangers = folder.names
    let store = try ResponseStore(in: folder.url, capacity: 5_000)
    #expect(await store.response(for: "b") == nil)
    for key: ResponseKey in ["a", "b", "c", "d"] { await store.store(try await Self.response(), for: key) }
    await store.removeAll()
    #expect(folder.names == strangers)
    #expect(outside.names == [theirs])
    // Nor if it takes the place of a file, or of the next one.
    await store.store(try await Self.response(), for: "a")
    let file = folder.file(try #require(folder.names.first { !strangers.contains($0) }))
    let use = try #require(Int(file.pathExtension))
    let next = (1...2).map { file.deletingPathExtension().appendingPathExtension("\(use + $0)") }
    try FileManager.default.removeItem(at: file)
    #expect(mkfifo(file.path, 0o600) == 0)
    #expect(await store.response(for: "a") == nil)
    #expect(folder.names.contains(file.lastPathComponent))
    try FileManager.default.createSymbolicLink(at: next[0], withDestinationURL: outside.file("new"))
    #expect(mkfifo(next[1].path, 0o600) == 0)
    // The second one takes the next number.
    for key: ResponseKey in ["a", "c", "a"] { await store.store(try await Self.response(), for: key) }
    #expect(([file] + next).allSatisfy { folder.names.contains($0.lastPathComponent) })
    #expect(outside.names == [theirs])
  }
}
