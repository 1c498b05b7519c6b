import Foundation
import LoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DownloadTests {
  // MARK: Resuming later

  @Test func aKeptPartIsGoneOnWith() async throws {
    let bytes = someBytes(300_000)
    let isUp = Box(false)
    let server = try LoopbackServer { request in
      isUp.value == true ? .file(bytes, for: request) : .file(bytes, for: request, cut: 100_000)
    }
    let folder = try Folder()
    let options = DownloadOptions(resumeToken: ResumeToken())
    var policy = Self.policy
    policy.maxRetries = 0
    #expect(await download(server, to: folder.file(), options, policy: policy).error != nil)
    #expect(folder.names.count == 2 && !folder.names.contains("file.bin"))
    isUp.value = true
    let done = try await download(server, to: folder.file(), options, policy: policy).get()
    #expect(try Data(contentsOf: done.file) == Data(bytes))
    #expect(server.requests.last?.value("Range") == "bytes=100000-")
    #expect(folder.names == ["file.bin"])
  }

  /// A part that was damaged on the disk, or belongs to another file.
  @Test(arguments: ["damaged", "other path", "other host", "no state", "too long", "nonsense"])
  func aPartThatCannotBeTrustedIsNotUsed(_ harm: String) async throws {
    let bytes = someBytes(100_000)
    let server = try LoopbackServer { .file(bytes, for: $0, cut: $0.index == 0 ? 50_000 : nil) }
    let other = try LoopbackServer { .file(bytes, for: $0) }
    let folder = try Folder()
    var options = DownloadOptions(resumeToken: ResumeToken("../x"))
    #expect(await download(server, to: folder.file(), options, policy: .never).error != nil)
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
    options.sha256 = "6f8677b71200288ba4effacb2c2a28c59a800b75ca6ea84ff6805042ce0bb1b2"
    let path = harm == "other path" ? server.url("/other") : nil
    let done = try await download(harm == "other host" ? other : server, to: folder.file(), options) { request in
      if let path { request.url = path }
    }.get()
    #expect(try Data(contentsOf: done.file) == Data(bytes), "\(harm)")
    let later = harm == "other host" ? other.requests[...] : server.requests.dropFirst()
    #expect(later.map { $0.value("Range") == nil } == (harm == "damaged" ? [false, true] : [true]))
    #expect(folder.names == ["file.bin"])
  }

  @Test func twoDoNotWriteToOnePart() async throws {
    let server = try LoopbackServer { .file(someBytes(100), for: $0) }
    let slow = try LoopbackServer(script: .stall)
    let folder = try Folder()
    let options = DownloadOptions(resumeToken: ResumeToken())
    let first = Task { await download(slow, to: folder.file(), options) }
    await until { folder.partialSize == 6 }
    guard case .inUse? = transferError(await download(server, to: folder.file(), options)) else {
      Issue.record("not refused")
      return
    }
    #expect(server.requests.isEmpty)
    first.cancel()
    guard case .failure(.cancelled) = await first.value else { Issue.record("not cancelled"); return }
    // What it had is not usable without a validator, and the place is free for the next.
    _ = try await download(server, to: folder.file(), options).get()
    #expect(folder.names == ["file.bin"])
  }

  @Test func aCancelledDownloadLeavesNothing() async throws {
    let server = try LoopbackServer(script: .stall)
    let folder = try Folder()
    let result = Box<NetworkError>()
    let transfer = session.performNetworkDownload(URLRequest(url: server.url()), to: folder.file()) {
      result.value = $0.error
    }
    await until { transfer.progress.completedUnitCount == 6 }
    #expect(transfer.progress.totalUnitCount == 100)
    transfer.progress.cancel()
    await until { result.value != nil }
    guard case .cancelled? = result.value else { Issue.record("\(String(describing: result.value))"); return }
    #expect(folder.names.isEmpty)
  }

  @Test func aRedirectIsFollowedAndTheTokenStaysBehind() async throws {
    let bytes = someBytes(50_000)
    let other = try LoopbackServer { .file(bytes, for: $0, cut: 20_000) }
    let server = try LoopbackServer { _ in .redirect(307, to: other.url("/there").absoluteString) }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()) {
      $0.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
    }.get()
    #expect(try Data(contentsOf: done.file) == Data(bytes))
    #expect(other.requests.map { $0.value("Range") } == [nil, "bytes=20000-", "bytes=40000-"])
    #expect(other.requests.allSatisfy { $0.value("Authorization") == nil })
  }

  @Test func aPOSTIsNotRepeated() async throws {
    let server = try LoopbackServer { .file(someBytes(50_000), for: $0, cut: 20_000) }
    let folder = try Folder()
    #expect(await download(server, to: folder.file()) { $0.httpMethod = "POST" }.error != nil)
    #expect(server.requests.count == 1 && folder.names.isEmpty)
  }

  /// Answered with a part, it would have to be sent again for the rest.
  @Test func aPOSTGetsNoParts() async throws {
    let server = try LoopbackServer { _ in Self.part("bytes 0-69999/200000", someBytes(70_000)) }
    let folder = try Folder()
    let result = await download(server, to: folder.file()) { $0.httpMethod = "POST" }
    guard case .invalidAnswer? = transferError(result) else { Issue.record("\(result)"); return }
    #expect(server.requests.count == 1 && folder.names.isEmpty)
  }

  /// Nobody says how long it is, until nothing is missing: 416.
  @Test func anUnknownLengthIsAskedForToItsEnd() async throws {
    let bytes = someBytes(40_000)
    let server = try LoopbackServer { request in
      guard let range = request.value("Range") else {
        let chunk = Array("4e20\r\n".utf8) + bytes[..<20_000] + Array("\r\n".utf8)
        return Answer([.send(Answer.head(200, Self.tag + [("Transfer-Encoding", "chunked")]) + chunk), .close])
      }
      let start = Int(range.dropFirst(6).dropLast()) ?? 0
      if start >= bytes.count { return .status(416, [("Content-Range", "bytes */40000")]) }
      let end = min(start + 10_000, bytes.count)
      return Self.part("bytes \(start)-\(end - 1)/*", Array(bytes[start..<end]))
    }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.file) == Data(bytes) && done.response.statusCode == 416)
  }

  /// A first answer without a validator drops; the second is a part that begins at 0.
  @Test func aPartFromTheBeginningReplacesWhatWasThere() async throws {
    let bytes = someBytes(40_000)
    let server = try LoopbackServer { request in
      switch request.index {
      case 0:
        let head = Answer.head(200, [("Content-Length", "40000")])
        return Answer([.send(head + someBytes(20_000, seed: 9)), .close])
      case 1:
        let head = Answer.head(206, Self.tag + [("Content-Range", "bytes 0-39999/40000"), ("Content-Length", "40000")])
        return Answer([.send(head + bytes[..<10_000]), .close])
      default: return .file(bytes, for: request)
      }
    }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.file) == Data(bytes))
    #expect(server.requests.map { $0.value("Range") } == [nil, nil, "bytes=10000-"])
  }

  /// Put together from pieces, and never what it should be: twice the whole is enough.
  @Test func aWrongChecksumOverALineThatDropsEnds() async throws {
    let bytes = someBytes(200_000)
    let server = try LoopbackServer { .file(bytes, for: $0, cut: 120_000) }
    let folder = try Folder()
    let token = ResumeToken()
    let options = DownloadOptions(resumeToken: token, sha256: String(repeating: "0", count: 64))
    let result = await download(server, to: folder.file(), options)
    guard case .checksumMismatch? = transferError(result) else { Issue.record("\(result)"); return }
    #expect(server.requests.count == 4 && folder.names.isEmpty)
    // And what is kept does not fail for ever.
    let right = DownloadOptions(resumeToken: token)
    _ = try await download(server, to: folder.file(), right).get()
  }

  @Test func whatIsUnderWayIsNotDiscarded() async throws {
    let server = try LoopbackServer(script: .stall)
    let folder = try Folder()
    let token = ResumeToken()
    let options = DownloadOptions(resumeToken: token)
    let task = Task { await download(server, to: folder.file(), options) }
    await until { folder.partialSize == 6 }
    token.discard(in: folder.url)
    #expect(token.isKept(in: folder.url))
    task.cancel()
    _ = await task.value
    token.discard(in: folder.url)
    #expect(folder.names.isEmpty)
  }

  /// At any moment of a short download: the answer and the folder agree.
  @Test func aCancellationAtAnyMomentLeavesTheFileOrNothing() async throws {
    let server = try LoopbackServer { .file(someBytes(50_000), for: $0) }
    for moment in 0..<60 {
      let folder = try Folder()
      let task = Task { await download(server, to: folder.file()) }
      try await Task.sleep(for: .microseconds(moment * 100))
      task.cancel()
      switch await task.value {
      case .success: #expect(folder.names == ["file.bin"])
      case .failure: #expect(folder.names.isEmpty)
      }
    }
  }
}
