import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A middleware can reject a transfer, even after the whole body was received.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct RejectedTransferTests {
  struct Rejection: RetryableError {
    var shouldRetry = true
  }

  /// Does something with the complete response.
  struct Inspector: NetworkMiddleware {
    var inspect:
      @Sendable (NetworkResponse<Data>, URLRequest, NetworkMiddlewareNext) async throws -> NetworkResponse<Data>
    func respond(
      to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> { try await inspect(try await next(request), request, next) }
  }

  static let bytes = someBytes(50_000)
  let folder: Folder
  let server: LoopbackServer
  init() throws {
    folder = try Folder()
    server = try LoopbackServer { .file(Self.bytes, for: $0) }
  }

  func download(
    _ middleware: some NetworkMiddleware, _ options: DownloadOptions = DownloadOptions(resumes: true),
    deadline: Duration? = nil
  ) async throws(NetworkError) -> NetworkDownload {
    try await NetworkClient(policy: RetryPolicy(backoff: .immediate, deadline: deadline), middleware: [middleware])
      .performNetworkDownload(URLRequest(url: server.url("/file")), to: folder.file(), options: options)
  }

  func expectWholeFile() throws {
    #expect(try Data(contentsOf: folder.file()) == Data(Self.bytes) && folder.names == ["file.bin"])
  }

  @Test func requestsARejectedFileFromItsBeginning() async throws {
    let seen = Counter()
    let done = try await download(
      Inspector { response, _, _ in
        if seen.add() == 1 { throw Rejection() }
        return response
      })
    #expect(done.response.statusCode == 200 && done.attempts.count == 2)
    #expect(server.requests.map { $0.value("Range") } == [nil, nil])
    try expectWholeFile()
  }

  @Test func middlewareCanRequestTheFileTwice() async throws {
    let done = try await download(Inspector { _, request, next in try await next(request) })
    #expect(done.response.statusCode == 200 && server.requests.map { $0.value("Range") } == [nil, nil])
    try expectWholeFile()
  }

  @Test func removesARejectedFile() async throws {
    let folder = folder
    let error = await #expect(throws: NetworkError.self) {
      try await download(
        Inspector { _, _, _ in
          #expect(!folder.names.contains("file.bin"))
          throw Rejection(shouldRetry: false)
        })
    }
    guard case .middlewareError(is Rejection)? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(folder.names.isEmpty && server.requests.count == 1)
  }

  /// It was canceled, not rejected: the next download only requests whether it is complete. A validation does not take
  /// the 416 that confirms it for the status of its response.
  @Test(arguments: [false, true]) func keepsTheCompleteFileOfACanceledDownload(_ isValidated: Bool) async throws {
    let isComplete = Gate()
    let task = Task {
      try await download(
        Inspector { response, _, _ in
          isComplete.open()
          try await Task.sleep(for: .seconds(3_600))
          return response
        })
    }
    await isComplete.wait()
    task.cancel()
    guard case .failure(NetworkError.cancelled) = await task.result else { Issue.record("not canceled"); return }
    #expect(!folder.names.contains("file.bin") && folder.partialSize == Self.bytes.count)
    let done =
      isValidated
      ? try await download(ResponseValidation(statusCodes: 200..<300, contentTypes: ["image/png"]))
      : try await download(Inspector { response, _, _ in response })
    #expect(done.response.statusCode == 416 && server.requests.last?.value("Range") == "bytes=50000-")
    try expectWholeFile()
  }

  /// The file that takes its place while a middleware looks at the download is not replaced.
  @Test func doesNotReplaceAFileThatAppearsDuringTheDownload() async throws {
    let file = folder.file()
    let error = await #expect(throws: NetworkError.self) {
      try await download(
        Inspector { response, _, _ in
          try Data("mine".utf8).write(to: file)
          return response
        })
    }
    guard case .transferFailed(TransferError.destinationExists(file))? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(folder.text() == "mine")
  }

  /// The middleware has not come to an end, so it has not rejected the file.
  @Test func keepsTheCompleteFileOfADownloadThatEndsAtItsDeadline() async throws {
    let error = await #expect(throws: NetworkError.self) {
      try await download(
        Inspector { response, _, _ in
          try await Task.sleep(for: .seconds(3_600))
          return response
        },
        deadline: .seconds(1))
    }
    #expect(error?.stopReason == .deadline)
    #expect(folder.partialSize == Self.bytes.count)
    let done = try await download(Inspector { response, _, _ in response })
    #expect(done.response.statusCode == 416 && server.requests.last?.value("Range") == "bytes=50000-")
    try expectWholeFile()
  }

  /// The next download only has to move the file.
  @Test func keepsACompleteFileThatCannotBeMoved() async throws {
    let file = folder.file()
    await #expect(throws: NetworkError.self) {
      try await download(
        Inspector { response, _, _ in
          try Data("mine".utf8).write(to: file)
          return response
        })
    }
    #expect(folder.text() == "mine" && folder.partialSize == Self.bytes.count)
    let options = DownloadOptions(overwrites: true, resumes: true)
    let done = try await download(Inspector { response, _, _ in response }, options)
    #expect(done.response.statusCode == 416 && server.requests.last?.value("Range") == "bytes=50000-")
    try expectWholeFile()
  }
}
