import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A middleware decides about a transfer as about any response, also when all of it has come.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct RejectedTransferTests {
  struct Rejection: RetryableError {
    var shouldRetry = true
  }

  /// Does something with the complete response.
  struct Inspector: NetworkMiddleware {
    var stage: MiddlewareStage
    var inspect: @Sendable (NetworkResponse, URLRequest, NetworkMiddlewareNext) async throws -> NetworkResponse
    func respond(
      to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse { try await inspect(try await next(request), request, next) }
  }

  static let bytes = someBytes(50_000)
  let folder: Folder
  let server: LoopbackServer
  init() throws {
    folder = try Folder()
    server = try LoopbackServer { .file(Self.bytes, for: $0) }
  }

  func download(
    _ middleware: some NetworkMiddleware, _ options: DownloadOptions = DownloadOptions(resumes: true)
  ) async throws(NetworkError) -> NetworkDownload {
    try await NetworkClient(policy: RetryPolicy(backoff: .none), middleware: [middleware])
      .performNetworkDownload(URLRequest(url: server.url("/file")), to: folder.file(), options: options)
  }

  func expectWholeFile() throws {
    #expect(try Data(contentsOf: folder.file()) == Data(Self.bytes) && folder.names == ["file.bin"])
  }

  @Test func rejectedFileIsRequestedFromItsBeginning() async throws {
    let seen = Counter()
    let done = try await download(
      Inspector(stage: .attempt) { response, _, _ in
        if seen.add() == 1 { throw Rejection() }
        return response
      })
    #expect(done.response.statusCode == 200 && done.attempts.count == 2)
    #expect(server.requests.map { $0.value("Range") } == [nil, nil])
    try expectWholeFile()
  }

  @Test(arguments: [MiddlewareStage.attempt, .call])
  func fileThatIsRequestedTwiceIsWhole(_ stage: MiddlewareStage) async throws {
    let done = try await download(Inspector(stage: stage) { _, request, next in try await next(request) })
    #expect(done.response.statusCode == 200 && server.requests.map { $0.value("Range") } == [nil, nil])
    try expectWholeFile()
  }

  @Test(arguments: [MiddlewareStage.attempt, .call])
  func rejectedFileIsNotPutInPlaceNorKept(_ stage: MiddlewareStage) async throws {
    let folder = folder
    let error = await #expect(throws: NetworkError.self) {
      try await download(
        Inspector(stage: stage) { _, _, _ in
          #expect(!folder.names.contains("file.bin"))
          throw Rejection(shouldRetry: false)
        })
    }
    guard case .middlewareError(is Rejection)? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(folder.names.isEmpty && server.requests.count == 1)
  }

  /// It was canceled, not rejected: the next download has only to ask whether it is complete. A validation does not take
  /// the 416 that confirms it for the status of its response.
  @Test(arguments: [false, true]) func completeFileOfACanceledDownloadIsKept(_ isValidated: Bool) async throws {
    let isComplete = Gate()
    let task = Task {
      try await download(
        Inspector(stage: .attempt) { response, _, _ in
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
      : try await download(Inspector(stage: .call) { response, _, _ in response })
    #expect(done.response.statusCode == 416 && server.requests.last?.value("Range") == "bytes=50000-")
    try expectWholeFile()
  }

  /// The file that takes its place while a middleware looks at the download is not replaced.
  @Test func fileThatAppearsMeanwhileStays() async throws {
    let file = folder.file()
    let error = await #expect(throws: NetworkError.self) {
      try await download(
        Inspector(stage: .call) { response, _, _ in
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

  /// The process may end right after its result.
  @Test func assembledBodyIsGoneWithTheResult() async throws {
    for usesHandler in [true, false] {
      let mark = UUID().uuidString
      let found = Box<[Bool]>([])
      let server = try LoopbackServer { request in
        if request.isComplete { found.update { $0 += UploadTests.temporaryFiles(with: mark) } }
        return .ok()
      }
      let request = URLRequest(url: server.url(), method: "POST")
      let body = UploadBody.multipart([.init(name: "a", value: mark)])
      if usesHandler {
        let left: [Bool] = await withCheckedContinuation { continuation in
          URLSession.shared.performNetworkUpload(request, from: body) { _ in
            continuation.resume(returning: UploadTests.temporaryFiles(with: mark))
          }
        }
        #expect(left.isEmpty)
      } else {
        try await URLSession.shared.performNetworkUpload(request, from: body)
        #expect(UploadTests.temporaryFiles(with: mark).isEmpty)
      }
      #expect(found.value == [true])
    }
  }

  /// What has come is not delivered after a cancellation, even if it is all that was to come.
  @Test(arguments: [true, false]) func canceledReaderEndsThoughAllHasCome(readsLines: Bool) async throws {
    let chunks = readsLines ? [Data("a\nb\nc\n".utf8)] : [Data("a".utf8), Data("b".utf8), Data("c".utf8)]
    let script = NetworkScript.scripted([.chunks(200, headers: [:], chunks, isCut: false)])
    let request = URLRequest(url: server.url())
    let reader = Task {
      let bytes = try await script.networkBytes(for: request)
      var lines = bytes.lines.makeAsyncIterator()
      if readsLines { #expect(try await lines.next() == "a") }
      withUnsafeCurrentTask { $0?.cancel() }
      if readsLines { _ = try await lines.next() } else { for try await _ in bytes {} }
    }
    guard case .failure(NetworkError.cancelled) = await reader.result else { Issue.record("went on"); return }
  }
}
