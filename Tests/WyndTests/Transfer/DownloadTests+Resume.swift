import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DownloadTests {
  // MARK: Resuming later

  struct Damaged: Error {}
  /// As `.stall`, with a tag.
  static let stall = ScriptedResponse([
    .send(ScriptedResponse.head(200, tag + [("Content-Length", "100")])), ScriptedResponse.text("a part"), .hang,
  ])

  @Test func resumesAKeptPartialFile() async throws {
    let bytes = someBytes(300_000)
    let isUp = Box(false)
    let server = try LoopbackServer { request in
      isUp.value == true ? .file(bytes, for: request) : .file(bytes, for: request, cut: 100_000)
    }
    let folder = try Folder()
    let policy = RetryPolicy.quick(maxRetries: 0)
    #expect(await download(server, to: folder.file(), resumes: true, policy: policy).error != nil)
    #expect(folder.names.count == 2 && !folder.names.contains("file.bin"))
    isUp.value = true
    let done = try await download(server, to: folder.file(), resumes: true, policy: policy).get()
    #expect(try Data(contentsOf: done.value) == Data(bytes))
    #expect(server.requests.last?.value("Range") == "bytes=100000-")
    #expect(folder.names == ["file.bin"])
  }

  /// Each user has a file of the same URL, length and date.
  @Test(arguments: ["Authorization", "X-Auth-Token"])
  func doesNotContinueTheFileOfAnotherUserByItsDate(_ field: String) async throws {
    let dates = [("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT"), ("Date", "Wed, 01 Oct 2025 00:00:00 GMT")]
    let server = try LoopbackServer { request in
      let bytes = Array(repeating: (request.value(field) ?? "-").utf8.last ?? 0, count: 50_000)
      return .file(bytes, for: request, dates, cut: request.index.isMultiple(of: 2) ? 20_000 : nil)
    }
    for (first, second) in [("user A", "user B"), ("user A", nil), (nil, "user B")] as [(String?, String?)] {
      let folder = try Folder()
      let cut = await download(
        server, to: folder.file(), resumes: true, { $0.setValue(first, forHTTPHeaderField: field) }, policy: .never)
      #expect(cut.error != nil && folder.names.isEmpty == (first != nil))
      _ = try await download(
        server, to: folder.file(), resumes: true, { $0.setValue(second, forHTTPHeaderField: field) }
      ).get()
      #expect(Set(try Data(contentsOf: folder.file())) == [(second ?? "-").utf8.last])
    }
  }

  struct Member: NetworkCredential {
    var name: String
    var headers: [String: String] { ["X-Member": name] }
  }

  /// The field of the user does not look like a secret, but its middleware names it.
  @Test func doesNotContinueTheFileOfAnotherUserOfAClientByItsDate() async throws {
    let dates = [("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT"), ("Date", "Wed, 01 Oct 2025 00:00:00 GMT")]
    let server = try LoopbackServer { request in
      let bytes = Array(repeating: (request.value("X-Member") ?? "-").utf8.last ?? 0, count: 50_000)
      return .file(bytes, for: request, dates, cut: request.index == 0 ? 20_000 : nil)
    }
    let member = Authentication(for: server.url(), Member(name: "A"))
    let client = NetworkClient(policy: .never, middleware: [member])
    let folder = try Folder()
    let request = URLRequest(url: server.url("/file"))
    await #expect(throws: NetworkError.self) {
      try await client.performNetworkDownload(request, to: folder.file(), resumes: true)
    }
    member.signIn(Member(name: "B"))
    try await client.performNetworkDownload(request, to: folder.file(), resumes: true)
    #expect(Set(try Data(contentsOf: folder.file())) == [UInt8(ascii: "B")])
  }

  /// A partial file that was damaged, or that belongs to another file.
  @Test(arguments: ["damaged", "other path", "other host", "no state", "too long", "nonsense"])
  func doesNotUseADamagedOrForeignPartialFile(_ harm: String) async throws {
    let bytes = someBytes(100_000)
    let server = try LoopbackServer { .file(bytes, for: $0, cut: $0.index == 0 ? 50_000 : nil) }
    let other = try LoopbackServer { .file(bytes, for: $0) }
    let folder = try Folder()
    #expect(await download(server, to: folder.file(), resumes: true, policy: .never).error != nil)
    let part = try #require(folder.partial)
    let state = try #require(folder.hidden.first { $0 != part })
    var begun = try Data(contentsOf: part)
    #expect(begun.count == 50_000)
    switch harm {
    case "damaged": begun[7] &+= 1
    case "too long": begun += bytes
    case "nonsense": try Data("{".utf8).write(to: state)
    case "no state": try FileManager.default.removeItem(at: state)
    default: break
    }
    try begun.write(to: part)
    let path = harm == "other path" ? server.url("/other") : nil
    let done = try await download(
      harm == "other host" ? other : server, to: folder.file(), resumes: true,
      { request in if let path { request.url = path } },
      validate: { file in if try Data(contentsOf: file) != Data(bytes) { throw Damaged() } }
    ).get()
    #expect(try Data(contentsOf: done.value) == Data(bytes), "\(harm)")
    let later = harm == "other host" ? other.requests[...] : server.requests.dropFirst()
    #expect(later.map { $0.value("Range") == nil } == (harm == "damaged" ? [false, true] : [true]))
    #expect(folder.names == ["file.bin"])
  }

  /// The part is not in it, so another download would bring the same.
  @Test func doesNotDownloadAnInvalidCompleteFileAgain() async throws {
    let bytes = someBytes(100_000)
    let server = try LoopbackServer { $0.index == 0 ? .file(bytes, for: $0, cut: 50_000) : .ok(bytes) }
    let folder = try Folder()
    let validate: @Sendable (URL) throws -> Void = { _ in throw Damaged() }
    let cut = await download(server, to: folder.file(), resumes: true, policy: .never, validate: validate)
    #expect(cut.error != nil)
    let result = await download(server, to: folder.file(), resumes: true, validate: validate)
    guard case .invalidFile? = transferError(result) else {
      Issue.record("not refused")
      return
    }
    #expect(server.values(of: "Range") == [nil, "bytes=50000-"])
  }

  /// Two downloads would write to one partial file, even if their paths differ in spelling.
  @Test(arguments: ["", "/.", "/inner/.."]) func rejectsASecondDownloadToTheSameFile(_ way: String) async throws {
    let server = try LoopbackServer { .file(someBytes(100), for: $0) }
    let slow = try LoopbackServer(script: Self.stall)
    let folder = try Folder()
    let first = Task { await download(slow, to: folder.file(), resumes: true) }
    await until { folder.partialSize == 6 }
    try FileManager.default.createDirectory(at: folder.file("inner"), withIntermediateDirectories: false)
    let same = URL(fileURLWithPath: folder.url.path + way + "/file.bin")
    guard case .inUse(same)? = transferError(await download(server, to: same, resumes: true)) else {
      Issue.record("not refused")
      return
    }
    #expect(server.requests.isEmpty)
    first.cancel()
    #expect(await first.value.isCancelled)
    // What it had is not usable without a validator, and the place is free for the next.
    _ = try await download(server, to: folder.file(), resumes: true).get()
    #expect(folder.names == ["file.bin", "inner"])
  }

  /// Another process, such as an app extension, has the partial file open.
  @Test(arguments: [true, false]) func rejectsADownloadToTheFileOfAnotherProcess(resumes: Bool) async throws {
    let server = try LoopbackServer { .file(someBytes(100), for: $0) }
    let folder = try Folder()
    let part = folder.file(".file.bin.wynd-part")
    // Two opened files of one process exclude each other as those of two processes do.
    let other = open(part.path, O_RDWR | O_CREAT, 0o600)
    #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
    guard case .inUse? = transferError(await download(server, to: folder.file(), resumes: resumes)) else {
      Issue.record("not refused")
      return
    }
    #expect(server.requests.isEmpty && folder.names == [".file.bin.wynd-part"])
    close(other)
    _ = try await download(server, to: folder.file(), resumes: resumes).get()
    #expect(folder.names == ["file.bin"])
  }

  @Test func namesTheFileIfItsFolderCannotBeWritten() async throws {
    let server = try LoopbackServer { .file(someBytes(100), for: $0) }
    // Not even root may create a file there.
    let file = URL(fileURLWithPath: "/sys/kernel/file.bin")
    if !isOnApplePlatforms, FileManager.default.fileExists(atPath: "/sys/kernel") {
      guard
        case .unusableFile(file, "its folder cannot be written to")? = transferError(
          await download(server, to: file))
      else { Issue.record("not refused"); return }
    }
  }

  @Test func removesPartialFileWhenCanceled() async throws {
    let server = try LoopbackServer(script: .stall)
    let folder = try Folder()
    let result = Box<NetworkError>()
    let reported = Box<TransferProgress>()
    let task = session.performNetworkDownload(
      server.url(), to: folder.file(), onProgress: { reported.value = $0 },
      completionHandler: { result.value = $0.error })
    await until { reported.value == TransferProgress(completed: 6, total: 100) }
    task.cancel()
    await until { result.value != nil }
    guard case .cancelled? = result.value else { Issue.record("\(String(describing: result.value))"); return }
    #expect(folder.names.isEmpty)
  }

  /// The response to another method may be another file.
  @Test(arguments: [("GET", "POST"), ("POST", "GET")])
  func doesNotResumeWithAnotherMethod(_ first: String, _ second: String) async throws {
    let server = try LoopbackServer { request in
      request.index == 0 ? .file(Self.old, for: request, cut: 20_000) : .file(Self.new, for: request)
    }
    let folder = try Folder()
    for (method, isWhole) in [(first, false), (second, true)] {
      let result = await download(server, to: folder.file(), resumes: true, { $0.httpMethod = method }, policy: .never)
      #expect((result.error == nil) == isWhole)
    }
    #expect(try Data(contentsOf: folder.file()) == Data(Self.new))
    #expect(server.values(of: "Range") == [nil, nil])
  }

  /// After a partial response, the POST would have to be sent again for the rest.
  @Test func rejectsAPartialResponseToAPOST() async throws {
    let server = try LoopbackServer { _ in Self.part("bytes 0-69999/200000", someBytes(70_000)) }
    let folder = try Folder()
    let result = await download(server, to: folder.file()) { $0.httpMethod = "POST" }
    guard case .invalidResponse? = transferError(result) else { Issue.record("\(result)"); return }
    #expect(server.requests.count == 1 && folder.names.isEmpty)
  }

  /// The length is unknown until a 416 says that nothing is missing.
  @Test func requestsAFileOfUnknownLengthToItsEnd() async throws {
    let bytes = someBytes(40_000)
    let server = try LoopbackServer { request in
      guard let range = request.value("Range") else {
        let chunk = Array("4e20\r\n".utf8) + bytes[..<20_000] + Array("\r\n5\r\n".utf8)
        return ScriptedResponse([
          .send(ScriptedResponse.head(200, Self.tag + [("Transfer-Encoding", "chunked")]) + chunk), .close,
        ])
      }
      let start = Int(range.dropFirst(6).dropLast()) ?? 0
      if start >= bytes.count { return .status(416, [("Content-Range", "bytes */40000")]) }
      let end = min(start + 10_000, bytes.count)
      return Self.part("bytes \(start)-\(end - 1)/*", Array(bytes[start..<end]))
    }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.value) == Data(bytes) && done.response.statusCode == 416)
  }

  /// The file is assembled from ranges and never valid, so it is downloaded twice at most.
  @Test func restartsOnceAfterAFailedValidation() async throws {
    let bytes = someBytes(200_000)
    let server = try LoopbackServer { .file(bytes, for: $0, cut: 120_000) }
    let folder = try Folder()
    let result = await download(server, to: folder.file(), resumes: true, validate: { _ in throw Damaged() })
    guard case .failure(let error) = result else { Issue.record("\(result)"); return }
    #expect("\(error)".contains("invalid file: Damaged"))
    #expect(server.requests.count == 4 && folder.names.isEmpty)
    // The next call starts from the beginning and succeeds.
    _ = try await download(server, to: folder.file(), resumes: true).get()
  }

  @Test func doesNotRemoveAPartialFileInUse() async throws {
    let server = try LoopbackServer(script: Self.stall)
    let folder = try Folder()
    let task = Task { await download(server, to: folder.file(), resumes: true) }
    await until { folder.partialSize == 6 }
    NetworkPartialDownload.remove(for: folder.file())
    #expect(NetworkPartialDownload.exists(for: folder.file()))
    task.cancel()
    _ = await task.value
    NetworkPartialDownload.remove(for: folder.file())
    #expect(!NetworkPartialDownload.exists(for: folder.file()) && folder.names.isEmpty)
  }

  @Test func removesAPartialFileBesideAnExistingFile() async throws {
    let folder = try Folder()
    let file = folder.file()
    let fields = ["Content-Length": "10", "ETag": "\"a\"", "Accept-Ranges": "bytes"]
    let script = NetworkScript([.chunks(200, headers: fields, [Data("hello".utf8)], isCut: true)])
    let url = URL.example.appending(path: "film")
    _ = try? await script.performNetworkDownload(url, to: file, resumes: true, policy: .never)
    try Data("old".utf8).write(to: file)
    #expect(NetworkPartialDownload.exists(for: file))
    NetworkPartialDownload.remove(for: file)
    #expect(!NetworkPartialDownload.exists(for: file) && folder.text() == "old")
  }
}
