import Foundation
import Testing
import WyndLoopbackServer

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Files of the library, in a folder where another user of the machine may plant others.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct OwnFileTests {
  static func permissions(_ url: URL) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber)?.intValue
  }

  @Test func makesANewFileThatHasItsPermissionsFromTheStart() throws {
    let folder = try Folder()
    _ = try NetworkOwnFile.create(folder.file("new"), permissions: 0o600)
    #expect(Self.permissions(folder.file("new")) == 0o600)
    try Data("other".utf8).write(to: folder.file("taken"))
    symlink(folder.file("nowhere").path, folder.file("link").path)
    mkfifo(folder.file("pipe").path, 0o600)
    for name in ["taken", "link", "pipe"] {
      #expect(throws: POSIXError.self) { try NetworkOwnFile.create(folder.file(name), permissions: 0o600) }
    }
    #expect(folder.names == ["link", "new", "pipe", "taken"] && folder.text("taken") == "other")
  }

  /// Nobody else can read a multipart body, not even while it is written.
  @Test func temporaryFileIsOfTheUserAlone() throws {
    var seen: [Int] = []
    let file = try NetworkTemporaryFile { write in
      try write(Data("secret".utf8))
      // Other tests make and remove files in this folder at the same time, so one that is listed may be gone.
      var found = glob_t()
      defer { globfree(&found) }
      glob(FileManager.default.temporaryDirectory.appending(path: "wynd-*").path, 0, nil, &found)
      let paths = UnsafeBufferPointer(start: found.gl_pathv, count: Int(found.gl_pathc)).compactMap { $0 }
      seen = paths.compactMap { Self.permissions(URL(fileURLWithPath: String(cString: $0))) }
    }
    #expect(!seen.isEmpty && seen.allSatisfy { $0 == 0o600 })
    // It is removed with its last reference.
    let content = try withExtendedLifetime(file) { try Data(contentsOf: file.url) }
    #expect(content == Data("secret".utf8))
  }

  @Test func opensOnlyAFileOfItsOwn() throws {
    let folder = try Folder()
    let file = folder.file("file")
    #expect(try NetworkOwnFile.open(file) == nil)
    try Data("own".utf8).write(to: file)
    let own = try #require(try NetworkOwnFile.open(file))
    #expect(try own.handle.readToEnd() == Data("own".utf8) && own.hasItsName)
    symlink(file.path, folder.file("link").path)
    mkfifo(folder.file("pipe").path, 0o600)
    for name in ["link", "pipe"] { #expect(try NetworkOwnFile.open(folder.file(name), O_RDWR) == nil) }
    #expect(try NetworkOwnFile.open(folder.url) == nil)
    // What another process has just made is not removed.
    NetworkOwnFile.removeOther(file)
    #expect(NetworkOwnFile.exists(file))
    // A hard link, such as that of a backup. The file is still the same.
    #expect(link(file.path, folder.file("hard").path) == 0)
    #expect(try NetworkOwnFile.open(file) == nil && !NetworkOwnFile.exists(file))
    #expect(own.hasItsName)
    if geteuid() == 0 {
      unlink(folder.file("hard").path)
      #expect(chown(file.path, 65_534, 65_534) == 0)
      #expect(try NetworkOwnFile.open(file) == nil)
      // The owner of the folder may do anything there. On some file systems, all files have that owner.
      #expect(chown(folder.url.path, 65_534, 65_534) == 0)
      #expect(try NetworkOwnFile.open(file) != nil)
      #expect(chown(folder.url.path, 0, 0) == 0)
    }
    NetworkOwnFile.removeOther(file)
    #expect(!FileManager.default.fileExists(atPath: file.path) || geteuid() != 0)
  }

  @Test func noticesThatItsNameIsThatOfAnotherFile() throws {
    let folder = try Folder()
    let own = try NetworkOwnFile.create(folder.file("file"), permissions: 0o600)
    #expect(own.hasItsName)
    rename(folder.file("file").path, folder.file("moved").path)
    #expect(!own.hasItsName)
    try Data().write(to: folder.file("file"))
    #expect(!own.hasItsName)
  }

  @Test func removesRegularFilesOnly() throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(at: folder.file("folder/inner"), withIntermediateDirectories: true)
    symlink("nowhere", folder.file("link").path)
    mkfifo(folder.file("pipe").path, 0o600)
    try Data().write(to: folder.file("file"))
    for name in folder.names + ["none"] { NetworkOwnFile.remove(folder.file(name)) }
    #expect(folder.names == ["folder", "link", "pipe"])
  }

  // MARK: Partial files

  let session = URLSession(configuration: .ephemeral)
  static let bytes = someBytes(40_000)

  /// Cut off after half of the file, and then whole.
  static func server() throws -> LoopbackServer {
    try LoopbackServer { .file(bytes, for: $0, cut: $0.index == 0 ? 20_000 : nil) }
  }

  func download(_ server: LoopbackServer, to file: URL, overwrites: Bool = false) async -> NetworkError? {
    do throws(NetworkError) {
      try await session.performNetworkDownload(
        URLRequest(url: server.url("/file")), to: file, overwrites: overwrites, resumes: true, policy: .never)
      return nil
    } catch { return error }
  }

  /// The partial file or its state has another name too, belongs to someone else, or is forged: none of it is used, and
  /// nothing else changes.
  @Test(arguments: ["part", "json"], ["hard link", "owner"])
  func startsOverWithAPlantedPartialFile(_ kind: String, _ change: String) async throws {
    if change == "owner", geteuid() != 0 { return }
    let server = try Self.server()
    let folder = try Folder()
    let backup = try Folder()
    #expect(await download(server, to: folder.file()) != nil)
    let planted = try #require(folder.hidden.first { $0.lastPathComponent.hasSuffix(kind) })
    if change == "owner" {
      #expect(chown(planted.path, 65_534, 65_534) == 0 && chmod(planted.path, 0o666) == 0)
    } else {
      #expect(link(planted.path, backup.file().path) == 0)
    }
    let before = try Data(contentsOf: planted)
    #expect(await download(server, to: folder.file()) == nil)
    #expect(server.values(of: "Range") == [nil, nil])
    #expect(try Data(contentsOf: folder.file()) == Data(Self.bytes) && folder.names == ["file.bin"])
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.file().path)
    #expect((attributes[.ownerAccountID] as? NSNumber)?.uint32Value == geteuid())
    if change == "hard link" { #expect(try Data(contentsOf: backup.file()) == before) }
  }

  /// A folder with the name of the state is not removed with everything in it.
  @Test func keepsAFolderInPlaceOfTheState() async throws {
    let server = try Self.server()
    let folder = try Folder()
    let state = NetworkPartialFile.url(for: folder.file()).appendingPathExtension("json")
    try FileManager.default.createDirectory(at: state, withIntermediateDirectories: false)
    try Data("kept".utf8).write(to: state.appending(path: "inner"))
    #expect(await download(server, to: folder.file()) != nil)
    #expect(await download(server, to: folder.file()) == nil)
    #expect(server.values(of: "Range") == [nil, nil])
    #expect(try Data(contentsOf: state.appending(path: "inner")) == Data("kept".utf8))
  }

  /// Such as a backup that runs during the download.
  @Test func movesAFileThatHasGotAnotherName() async throws {
    let folder = try Folder()
    let server = try LoopbackServer { .file(Self.bytes, for: $0) }
    try await session.performNetworkDownload(
      URLRequest(url: server.url("/file")), to: folder.file(), policy: .never,
      validate: { part in #expect(link(part.path, folder.file("backup").path) == 0) })
    #expect(try Data(contentsOf: folder.file()) == Data(Self.bytes) && folder.names == ["backup", "file.bin"])
  }

  /// Another process has replaced the partial file meanwhile: its file is not moved.
  @Test func movesNoFileButItsOwn() async throws {
    let gate = Box(false)
    let folder = try Folder()
    let server = try LoopbackServer { .file(Self.bytes, for: $0) }
    let error = await #expect(throws: NetworkError.self) {
      try await session.performNetworkDownload(
        URLRequest(url: server.url("/file")), to: folder.file(), policy: .never,
        validate: { part in
          rename(part.path, folder.file("taken").path)
          try Data("other".utf8).write(to: part)
          gate.value = true
        })
    }
    guard case .generalError(TransferError.unusableFile)? = error else { Issue.record("\(error as Any)"); return }
    #expect(gate.value == true && folder.text() == nil && folder.hidden.count == 1)
    #expect(try Data(contentsOf: try #require(folder.hidden.first)) == Data("other".utf8))
  }

  /// Someone else makes the destination at the last moment.
  @Test func replacesNothingIfItMustNot() async throws {
    let folder = try Folder()
    let server = try LoopbackServer { .file(Self.bytes, for: $0) }
    let error = await #expect(throws: NetworkError.self) {
      try await session.performNetworkDownload(
        URLRequest(url: server.url("/file")), to: folder.file(), policy: .never,
        validate: { _ in try Data("other".utf8).write(to: folder.file()) })
    }
    guard case .generalError(TransferError.destinationExists)? = error else { Issue.record("\(error as Any)"); return }
    #expect(folder.names == ["file.bin"] && folder.text() == "other")
  }

  /// Two processes list the folder of a cache, and then store a response for the same key.
  @Test func storesBesideAnotherProcess() async throws {
    let folder = try Folder()
    let script = NetworkScript { _, number in .ok("\(number)", headers: ["Cache-Control": "max-age=60"]) }
    let stores = try (0..<2).map { _ in try ResponseStore(in: folder.url, capacity: 1_000_000) }
    let response = StoredResponse(
      try await script.networkResponse(for: URL.example), to: URLRequest(url: .example), requestedAt: Date())
    for store in stores { #expect(await store.response(for: "a") == nil) }
    for store in stores {
      await store.store(try #require(response), for: "a")
      #expect(await store.response(for: "a") != nil)
    }
  }

  #if os(Linux)
    /// A sandboxed Mac app may write only to the path that a person has chosen. Nobody can make a file in this folder.
    /// One after the other, because Foundation gives the name of a folder again that was removed.
    @Test func usesAReplacementFolderIfNoneIsAllowedBesideTheDestination() throws {
      for overwrites in [true, false] {
        let folder = try Folder()
        if overwrites { try Data("old".utf8).write(to: folder.file()) }
        let request = URLRequest(url: .example)
        let partial = try NetworkPartialFile(
          for: folder.file(), from: request, overwrites: overwrites, resumes: true,
          place: URL(fileURLWithPath: "/sys/none.wynd-part"))
        #expect(folder.text() == (overwrites ? "old" : nil))
        let kept = NetworkDownloadBody(start: 0, end: nil, isLengthStated: false, kept: 0)
        try partial.begin(NetworkDownloadState(source: "s", validator: "\"1\"", total: nil), kept)
        #expect(try partial.write(Data("new".utf8), kept))
        let replacementFolder = partial.url.deletingLastPathComponent()
        #expect(replacementFolder.path != folder.url.path)
        try partial.move(overwrites: overwrites)
        partial.close()
        #expect(folder.text() == "new" && folder.names == ["file.bin"])
        #expect(!FileManager.default.fileExists(atPath: replacementFolder.path))
      }
    }

    /// Before anything is sent.
    @Test func reportsAFolderThatRefusesTheDestinationToo() {
      let file = URL(fileURLWithPath: "/sys/none")
      do {
        _ = try NetworkPartialFile(for: file, from: URLRequest(url: .example), overwrites: true, resumes: false)
        Issue.record("opened")
      } catch {
        guard case TransferError.unusableFile(file, reason: "its folder cannot be written to") = error else {
          Issue.record("\(error)")
          return
        }
      }
    }

    /// As on a locked device, or without a free descriptor.
    @Test func keepsAPartialFileWhoseStateCannotBeRead() async throws {
      let server = try Self.server()
      let folder = try Folder()
      #expect(await download(server, to: folder.file()) != nil)
      let state = try #require(folder.hidden.first { $0.pathExtension == "json" })
      let error = try await whileUnreadable(state) { await download(server, to: folder.file()) }
      guard case .generalError(TransferError.fileSystem)? = error else { Issue.record("\(error as Any)"); return }
      #expect(folder.partialSize == 20_000)
      #expect(await download(server, to: folder.file()) == nil)
      #expect(server.values(of: "Range") == [nil, "bytes=20000-"])
    }

    @Test func keepsAStoredResponseThatCannotBeRead() async throws {
      let folder = try Folder()
      let script = NetworkScript([.ok("one", headers: ["Cache-Control": "max-age=60"]), .dropped])
      let client = NetworkClient(on: try ResponseCache(in: folder.url, on: script), policy: .never)
      let request = URLRequest(url: .example)
      _ = try await client.networkData(for: request)
      let stored = folder.file(try #require(folder.names.first))
      let error = try await whileUnreadable(stored) { await (try? client.networkData(for: request)) == nil }
      #expect(error && folder.names == [stored.lastPathComponent])
      #expect(try await client.networkData(for: request).0 == Data("one".utf8) && script.requests.count == 2)
    }
  #endif
}

#if os(Linux)
  /// Nobody can open the file meanwhile, not even root: a lease makes `open` fail (fcntl, F_SETLEASE).
  private func whileUnreadable<Value>(_ file: URL, _ body: () async -> Value) async throws -> Value {
    signal(SIGIO, SIG_IGN)
    let descriptor = open(file.path, O_RDWR)
    defer { close(descriptor) }
    let setLease: Int32 = 1024
    try #require(fcntl(descriptor, setLease, Int32(F_WRLCK)) == 0)
    return await body()
  }
#endif
