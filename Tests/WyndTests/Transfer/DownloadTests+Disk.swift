import Foundation
import WyndLoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DownloadTests {
  // MARK: The destination

  @Test func handlerFormReplacesAnExistingFileOnRequest() async throws {
    let folder = try Folder()
    try Data("old".utf8).write(to: folder.file())
    let url = URL.example.appending(path: "file")
    let result = await handlerValue {
      NetworkScript([.ok("new")]).performNetworkDownload(
        url, to: folder.file(), overwrites: true, completionHandler: $0)
    }
    #expect(try result.get().value == folder.file() && folder.text() == "new")
  }

  /// The old file stays unchanged until the new one is complete.
  @Test(arguments: [
    [.status(404, body: "no")], [.truncated], [.resetInBody], [.status(500)], [.garbage], [.badGzip],
    [ScriptedResponse([.send(ScriptedResponse.head(206, [("Content-Length", "3")])), ScriptedResponse.text("new")])],
    [.status(304)],
    // URLSession takes the end of the connection for the last chunk there.
    [isOnApplePlatforms ? .truncated : .truncatedChunk], [.brokenChunk], [.redirect(to: "ftp://example.com/")],
  ])
  func failureKeepsTheExistingFile(_ script: [ScriptedResponse]) async throws {
    let server = try LoopbackServer { script[min($0.index, script.count - 1)] }
    let folder = try Folder()
    try Data("old".utf8).write(to: folder.file())
    #expect(await download(server, to: folder.file(), overwrites: true, policy: .never).error != nil)
    #expect(folder.text() == "old" && folder.names == ["file.bin"])
  }

  @Test func putsFileInPlaceOnlyWhenComplete() async throws {
    let server = try LoopbackServer { _ in
      ScriptedResponse([
        .send(ScriptedResponse.head(200, [("Content-Length", "9")])), ScriptedResponse.text("new "),
        .pause(milliseconds: 20),
        ScriptedResponse.text("bytes"),
      ])
    }
    let stalled = try LoopbackServer(script: .stall)
    let folder = try Folder()
    let old = try Folder()
    try Data("old".utf8).write(to: old.file())
    let task = Task { await download(stalled, to: folder.file()) }
    let replacing = Task { await download(stalled, to: old.file(), overwrites: true) }
    await until { folder.partialSize == 6 && old.partialSize == 6 }
    #expect(folder.hidden.count == folder.names.count && old.text() == "old")
    for task in [task, replacing] {
      task.cancel()
      _ = await task.value
    }
    #expect(folder.names.isEmpty && old.names == ["file.bin"] && old.text() == "old")
    _ = try await download(server, to: old.file(), overwrites: true).get()
    #expect(old.text() == "new bytes")
  }

  @Test func replacesALinkAndKeepsItsTarget() async throws {
    let server = try LoopbackServer { .file(Array("new".utf8), for: $0) }
    let folder = try Folder()
    try Data("target".utf8).write(to: folder.file("target"))
    try FileManager.default.createSymbolicLink(at: folder.file(), withDestinationURL: folder.file("target"))
    _ = try await download(server, to: folder.file(), overwrites: true).get()
    #expect(folder.text() == "new" && folder.text("target") == "target" && folder.names == ["file.bin", "target"])
    #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: folder.file().path)) == nil)
  }

  @Test func doesNotReplaceFoldersAndSpecialFiles() async throws {
    let server = try LoopbackServer { .file(Array("new".utf8), for: $0) }
    let folder = try Folder()
    try FileManager.default.createDirectory(at: folder.file("inner"), withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(at: folder.file("link"), withDestinationURL: folder.file("inner"))
    #expect(mkfifo(folder.file("pipe").path, 0o600) == 0)
    let expected = "it is not a regular file"
    for name in ["inner", "link", "pipe"] {
      let file = URL(fileURLWithPath: folder.file(name).path, isDirectory: false)
      let result = await download(server, to: file, overwrites: true)
      guard case .unusableFile(_, expected)? = transferError(result), "\(result)".contains(": \(expected)") else {
        Issue.record("\(name): \(result)"); continue
      }
    }
    #expect(folder.names == ["inner", "link", "pipe"] && server.requests.isEmpty)
  }

  #if os(Linux)
    /// The first bytes that are written describe the file that is to come.
    @Test func removesTheStateFileWhenTheDiskIsFull() async throws {
      let server = try LoopbackServer { .file(someBytes(500_000), for: $0) }
      let folder = try Folder()
      let command = "ulimit -f 0; trap '' XFSZ; exec \"$0\" \"$@\" 2>/dev/null"
      let arguments = ["-c", command, CommandTests.program, "\(server.url())", "-o", folder.file().path]
      #expect(try await ChildProcess("/bin/sh", arguments).ended() == 1)
      #expect(folder.names.isEmpty)
    }
  #endif

  // MARK: The partial file

  /// If the part were kept, the server could send the same to every later request.
  @Test func restartsAfterABodyLongerThanItsContentRange() async throws {
    let server = try LoopbackServer { request in
      switch request.index {
      case 0: .file(Self.old, for: request, cut: 20_000)
      case 1:
        ScriptedResponse([
          .send(
            ScriptedResponse.head(
              206, Self.tag + [("Content-Range", "bytes 20000-29999/40000"), ("Content-Length", "20000")])),
          .send(someBytes(9_000, seed: 7)), .pause(milliseconds: 50), .send(someBytes(11_000, seed: 7)),
        ])
      default: .file(Self.old, for: request)
      }
    }
    let folder = try Folder()
    _ = try await download(server, to: folder.file(), resumes: true).get()
    #expect(try Data(contentsOf: folder.file()) == Data(Self.old))
    #expect(server.values(of: "Range") == [nil, "bytes=20000-", nil])
  }

  /// The version changed between two calls, and the new one was cut off too.
  @Test func replacesPartialFileAndStateForANewVersion() async throws {
    let server = try LoopbackServer { request in
      switch request.index {
      case 0: .file(Self.old, for: request, cut: 20_000)
      case 1: .file(Self.new, for: request, [("ETag", "\"2\"")], cut: 5_000)
      default: .file(Self.new, for: request, [("ETag", "\"2\"")])
      }
    }
    let folder = try Folder()
    for size in [20_000, 5_000] {
      #expect(await download(server, to: folder.file(), resumes: true, policy: .never).error != nil)
      #expect(folder.partialSize == size)
    }
    _ = try await download(server, to: folder.file(), resumes: true, policy: .never).get()
    #expect(try Data(contentsOf: folder.file()) == Data(Self.new))
    #expect(server.requests.last?.value("Range") == "bytes=5000-")
    #expect(server.requests.last?.value("If-Range") == "\"2\"")
  }

  // MARK: Other files in the folder

  /// Another user who can write to the folder may replace the partial file by a link.
  @Test func doesNotFollowLinksInPlaceOfThePartialFile() async throws {
    let server = try LoopbackServer { .file(Self.old, for: $0, cut: $0.index == 0 ? 20_000 : nil) }
    let folder = try Folder()
    let victims = try Folder()
    #expect(await download(server, to: folder.file(), resumes: true, policy: .never).error != nil)
    let names = folder.names
    #expect(!names.isEmpty)
    for name in names {
      try FileManager.default.moveItem(at: folder.file(name), to: victims.file(name))
      try FileManager.default.createSymbolicLink(at: folder.file(name), withDestinationURL: victims.file(name))
    }
    let before = try names.map { try Data(contentsOf: victims.file($0)) }
    _ = await download(server, to: folder.file(), resumes: true, policy: .never)
    #expect(victims.names == names)
    #expect(names.map { try? Data(contentsOf: victims.file($0)) } == before)
  }

  /// Writing to a pipe without a reader would never end.
  @Test func rejectsAPipeInPlaceOfThePartialFile() async throws {
    let server = try LoopbackServer { .file(Self.old, for: $0) }
    let folder = try Folder()
    #expect(mkfifo(NetworkPartialFile.url(for: folder.file()).path, 0o600) == 0)
    let result = await download(server, to: folder.file())
    guard case .unusableFile? = transferError(result) else { Issue.record("\(result)"); return }
    #expect(server.requests.isEmpty)
  }

  /// Without a validator it is unknown whether a partial file belongs to the same version.
  @Test func doesNotKeepAPartialFileWithoutValidator() async throws {
    let head = ScriptedResponse.head(200, [("Content-Length", "9")])
    let server = try LoopbackServer(script: ScriptedResponse([.send(head), ScriptedResponse.text("part"), .close]))
    let folder = try Folder()
    #expect(await download(server, to: folder.file(), resumes: true, policy: .never).error != nil)
    #expect(folder.names.isEmpty)
  }

  /// The file system limits the bytes of a name, not its characters.
  @Test(arguments: [("x", 200), ("x", 201), ("x", 255), ("犬", 85)])
  func resumesFilesWithLongNames(_ character: String, _ length: Int) async throws {
    let server = try LoopbackServer { .file(Self.old, for: $0, cut: $0.index == 0 ? 20_000 : nil) }
    let folder = try Folder()
    let file = folder.file(String(repeating: character, count: length))
    #expect(await download(server, to: file, resumes: true, policy: .never).error != nil)
    _ = try await download(server, to: file, resumes: true).get()
    #expect(server.requests.last?.value("Range") == "bytes=20000-" && folder.names == [file.lastPathComponent])
  }

  /// Two files with the same path and the same tag.
  @Test func doesNotResumeAPartialFileOfAnotherQuery() async throws {
    let server = try LoopbackServer { request in
      request.index == 0 ? .file(Self.old, for: request, cut: 20_000) : .file(Self.new, for: request)
    }
    let folder = try Folder()
    for (query, isWhole) in [("AAA", false), ("BBB", true)] {
      let url = server.url("/file?id=\(query)")
      let result = await download(server, to: folder.file(), resumes: true, { $0.url = url }, policy: .never)
      #expect((result.error == nil) == isWhole)
    }
    #expect(try Data(contentsOf: folder.file()) == Data(Self.new))
    #expect(server.values(of: "Range") == [nil, nil])
  }

  /// A download is canceled and started again at once.
  @Test func waitsUntilACanceledDownloadHasClosedItsFile() async throws {
    let server = try LoopbackServer { .file(Self.new, for: $0) }
    let folder = try Folder()
    let request = URLRequest(url: server.url("/file"))
    let canceled = try NetworkPartialFile(for: folder.file(), from: request, overwrites: false, resumes: false)
    let next = Task { await download(server, to: folder.file()) }
    // The file stays in use for this time; nothing is waited for.
    try await Task.sleep(for: .milliseconds(100))
    #expect(server.requests.isEmpty)
    canceled.close()
    _ = try await next.value.get()
    #expect(try Data(contentsOf: folder.file()) == Data(Self.new) && folder.names == ["file.bin"])
  }

  /// An image that several views load. Each download finds the place free, or fails; nobody sees a part of the file.
  @Test func downloadsToOnePlaceReplaceAWholeFileByAWholeFile() async throws {
    let server = try LoopbackServer(isRecording: false) { _ in .ok(Self.new) }
    let folder = try Folder()
    let expected = Data(Self.new)
    let isDone = Box(false)
    let reading = Task {
      var parts = 0
      while isDone.value == false {
        if let data = try? Data(contentsOf: folder.file()), data != expected { parts += 1 }
        await Task.yield()
      }
      return parts
    }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<40 {
            do throws(NetworkError) {
              try await session.performNetworkDownload(
                server.url(), to: folder.file(), overwrites: true, policy: .never)
            } catch {
              guard case .inUse? = transferError(.failure(error)) else { Issue.record("\(error)"); return }
            }
          }
        }
      }
    }
    isDone.value = true
    #expect(await reading.value == 0)
    #expect(try Data(contentsOf: folder.file()) == expected && folder.names == ["file.bin"])
  }

  /// Another process may begin between the two.
  @Test func keepsThePartialFileOfAnotherProcessAfterItsOwnWasMoved() throws {
    let folder = try Folder()
    let request = URLRequest(url: try #require(URL(string: "https://a.example/file")))
    let partial = try NetworkPartialFile(for: folder.file(), from: request, overwrites: false, resumes: false)
    try partial.move(overwrites: false)
    try Data("other".utf8).write(to: partial.url)
    partial.close()
    #expect(folder.hidden == [partial.url])
  }

  /// Its call ends between the moment when an attempt begins and the one when it opens the file.
  @Test func downloadThatEndedBeforeItsAttemptOpensNoFile() async throws {
    let folder = try Folder()
    let script = NetworkScript([.ok("x")])
    let download = NetworkDownloadCall(to: folder.file(), overwrites: false, resumes: true, validate: nil, nil)
    let request = URLRequest(url: .example)
    let plan = download.added(to: NetworkCallPlan(request))
    let end = download.finish(.failure(.cancelled))
    #expect(end.isCancelled)
    guard case .failure(let error) = await script.perform(plan) else { Issue.record("not canceled"); return }
    #expect(error.isCancellation && script.requests.isEmpty)
    #expect(folder.names.isEmpty)
  }

  @Test func handlerFormValidatesTheFile() async throws {
    let folder = try Folder()
    let url = URL.example.appending(path: "film")
    let script = NetworkScript([.ok("hello")])
    let result = await handlerValue {
      script.performNetworkDownload(
        url, to: folder.file(), validate: { _ in throw CocoaError(.fileReadCorruptFile) }, completionHandler: $0)
    }
    guard case .invalidFile? = transferError(result) else { Issue.record("\(result)"); return }
    #expect(folder.names.isEmpty)
  }
}
