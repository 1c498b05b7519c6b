import Dispatch
import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct DownloadTests {
  let session = URLSession(configuration: .ephemeral)

  func download(
    _ server: LoopbackServer, to file: URL, overwrites: Bool = false, resumes: Bool = false,
    _ change: (inout URLRequest) -> Void = { _ in }, policy: RetryPolicy = .quick(),
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil, validate: (@Sendable (URL) throws -> Void)? = nil
  ) async -> Result<NetworkResponse<URL>, NetworkError> {
    var request = URLRequest(url: server.url("/file"))
    change(&request)
    do throws(NetworkError) {
      return .success(
        try await session.performNetworkDownload(
          request, to: file, overwrites: overwrites, resumes: resumes, policy: policy, onProgress: onProgress,
          validate: validate))
    } catch {
      return .failure(error)
    }
  }

  func transferError(_ result: Result<NetworkResponse<URL>, NetworkError>) -> TransferError? {
    guard case .failure(.generalError(let error)) = result else { return nil }
    return error as? TransferError
  }

  // MARK: Lost connections

  @Test func resumesAfterEachLostConnection() async throws {
    let bytes = someBytes(1_000_000)
    let server = try LoopbackServer { .file(bytes, for: $0, cut: 100_000) }
    let folder = try Folder()
    let reported = Box<[TransferProgress]>([])
    let done = try await download(server, to: folder.file(), onProgress: reported.append).get()
    #expect(try Data(contentsOf: done.value) == Data(bytes))
    #expect(done.attempts.count == 10 && done.response.statusCode == 206)
    #expect(server.values(of: "Range") == [nil] + (1...9).map { "bytes=\($0)00000-" })
    #expect(server.requests.dropFirst().allSatisfy { $0.value("If-Range") == "\"1\"" })
    #expect(folder.names == ["file.bin"])
    let amounts = try #require(reported.value).map(\.completed)
    #expect(amounts == amounts.sorted() && amounts.last == 1_000_000)
    #expect(reported.value?.allSatisfy { $0.total == 1_000_000 } == true)
  }

  /// Twenty lost connections, of which the policy allows three without progress in a row.
  @Test func countsOnlyRetriesWithoutProgress() async throws {
    let bytes = someBytes(1_000_000)
    let server = try LoopbackServer { .file(bytes, for: $0, cut: 50_000) }
    let folder = try Folder()
    let policy = RetryPolicy.quick(maxRetries: 3)
    _ = try await download(server, to: folder.file(), policy: policy).get()
    #expect(server.requests.count == 20)
    // A server that sends a hundred bytes each time gets four requests.
    let stingy = try LoopbackServer { .file(bytes, for: $0, cut: 100) }
    let result = await download(stingy, to: folder.file("other.bin"), policy: policy)
    guard case .failure(.inaccessible(let failure)) = result else { Issue.record("\(result)"); return }
    #expect(failure.stopReason == .maxRetries && stingy.requests.count == 4)
    #expect(folder.names == ["file.bin"])
  }

  @Test func retriesServerErrorsAndKeepsThePartialFile() async throws {
    let bytes = someBytes(300_000)
    let server = try LoopbackServer { request in
      switch request.index {
      case 0: .file(bytes, for: request, cut: 100_000)
      case 1: .status(503, [("Retry-After", "0")], body: "not now")
      case 2: .reset
      default: .file(bytes, for: request)
      }
    }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.value) == Data(bytes))
    #expect(server.values(of: "Range") == [nil, "bytes=100000-", "bytes=100000-", "bytes=100000-"])
    let missing = try LoopbackServer(script: .status(404, body: "no such file"))
    let error = await download(missing, to: folder.file("b")).error
    #expect(error?.statusCode == 404 && error?.data == Data("no such file".utf8))
    #expect(folder.names == ["file.bin"])
  }

  // MARK: The file

  @Test func replacesAnExistingFileOnlyOnRequest() async throws {
    let server = try LoopbackServer { .file(Array("new".utf8), for: $0) }
    let folder = try Folder()
    let file = folder.file("a.tar.gz")
    try Data("old".utf8).write(to: file)
    guard case .destinationExists(file)? = transferError(await download(server, to: file)) else {
      Issue.record("not refused")
      return
    }
    #expect(server.requests.isEmpty)
    #expect(try String(contentsOf: file, encoding: .utf8) == "old")
    _ = try await download(server, to: file, overwrites: true).get()
    #expect(try String(contentsOf: file, encoding: .utf8) == "new")
    #expect(folder.names == ["a.tar.gz"])
  }

  /// Another process creates the file during the download.
  @Test func doesNotReplaceAFileThatAppearsDuringTheDownload() async throws {
    let folder = try Folder()
    let server = try LoopbackServer { request in
      try? Data("theirs".utf8).write(to: folder.file())
      return .file(Array("ours".utf8), for: request)
    }
    guard case .destinationExists? = transferError(await download(server, to: folder.file())) else {
      Issue.record("overwritten")
      return
    }
    #expect(try String(contentsOf: folder.file(), encoding: .utf8) == "theirs")
    #expect(folder.names == ["file.bin"])
  }

  @Test func rejectsUnusableDestinationsBeforeSending() async throws {
    let server = try LoopbackServer { .file([1], for: $0) }
    let folder = try Folder()
    try Data().write(to: folder.file("file"))
    for place in [
      folder.url, folder.file("no/such"), folder.file("file").appending(path: "below"),
      try #require(URL(string: "https://example.com/file")), URL(fileURLWithPath: "/"),
      URL(fileURLWithPath: "/dev/null/file"),
      folder.file(String(repeating: "x", count: 300)),
    ] {
      let error = transferError(await download(server, to: place))
      #expect(error != nil, "\(place)")
    }
    #expect(folder.names == ["file"])
    // The name is the file system's to refuse, at the end.
    #expect(server.requests.count == 1)
    #expect(await download(server, to: folder.file()) { $0.httpMethod = "HEAD" }.error != nil)
    #expect(
      await download(server, to: folder.file()) { $0.setValue("bytes=1-", forHTTPHeaderField: "Range") }.error != nil)
    #expect(server.requests.count == 1)
  }

  @Test func doesNotPutAnInvalidFileInPlace() async throws {
    let server = try LoopbackServer { .file(Array("abc".utf8), for: $0) }
    let folder = try Folder()
    let seen = Box<Data>()
    _ = try await download(server, to: folder.file("a"), validate: { seen.value = try Data(contentsOf: $0) }).get()
    #expect(seen.value == Data("abc".utf8))
    let result = await download(server, to: folder.file("b"), validate: { _ in throw Damaged() })
    guard case .invalidFile(is Damaged)? = transferError(result) else { Issue.record("\(result)"); return }
    #expect(folder.names == ["a"] && server.requests.count == 2)
  }

  #if os(Linux) || os(macOS)
    @Test func failsOnAFullDiskAndRemovesThePartialFile() async throws {
      let server = try LoopbackServer { .file(someBytes(500_000), for: $0) }
      let folder = try Folder()
      // Of 512 bytes each.
      let command = "ulimit -f 100; trap '' XFSZ; exec \"$0\" \"$@\""
      let arguments = ["-c", command, CommandTests.program, "\(server.url())", "-o", folder.file().path]
      let child = try ChildProcess("/bin/sh", arguments)
      #expect(await child.ended() == 1, "\(child.err)")
      #expect(child.err.contains("file system error"))
      NetworkPartialDownload.remove(for: folder.file())
      #expect(folder.names.isEmpty)
    }
  #endif

  /// A validation may wait for another download, such as that of a signature, whatever the number of downloads.
  @Test func validationsMayWaitForAnotherDownload() async throws {
    let server = try LoopbackServer { .file(Array("abc".utf8), for: $0) }
    let folder = try Folder()
    let (waiting, hasEnded) = (Counter(), DispatchSemaphore(value: 0))
    let timeouts = Counter()
    try await withThrowingTaskGroup { group in
      for number in 1...4 {
        group.addTask {
          _ = try await download(
            server, to: folder.file("\(number)"),
            validate: { _ in
              waiting.add()
              // Not forever, because other tests need the threads too.
              if hasEnded.wait(timeout: .now() + 10) == .timedOut { timeouts.add() }
            }
          ).get()
        }
      }
      await waiting.reaches(4)
      _ = try await download(server, to: folder.file("signature")).get()
      for _ in 1...4 { hasEnded.signal() }
      try await group.waitForAll()
    }
    #expect(timeouts.value == 0 && folder.names == ["1", "2", "3", "4", "signature"])
  }
}
