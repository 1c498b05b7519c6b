import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A middleware sees the response after the file was moved to its destination.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct RejectedTransferTests {
  struct Rejection: RetryableError {
    var shouldRetry = true
  }

  /// Does something with the complete response.
  static func inspecting(
    _ inspect: @escaping @Sendable (NetworkResponse<Data>) async throws -> NetworkResponse<Data>
  ) -> NetworkClosureMiddleware {
    .around { request, next in try await inspect(try await next(request)) }
  }

  static let bytes = someBytes(50_000)
  let folder: Folder
  let server: LoopbackServer
  init() throws {
    folder = try Folder()
    server = try LoopbackServer { .file(Self.bytes, for: $0) }
  }

  func download(
    _ middleware: NetworkClosureMiddleware, overwrites: Bool = false, validate: (@Sendable (URL) throws -> Void)? = nil
  ) async throws(NetworkError) -> NetworkResponse<URL> {
    try await NetworkClient(policy: RetryPolicy(backoff: .immediate), middleware: [middleware])
      .performNetworkDownload(
        server.url("/file"), to: folder.file(), overwrites: overwrites, resumes: true,
        validate: validate)
  }

  func expectWholeFile() throws {
    #expect(try Data(contentsOf: folder.file()) == Data(Self.bytes) && folder.names == ["file.bin"])
  }

  @Test func rejectedFileStaysInPlace() async throws {
    let error = await #expect(throws: NetworkError.self) {
      try await download(Self.inspecting { _ in throw Rejection(shouldRetry: false) })
    }
    guard case .generalError(is Rejection)? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(server.requests.count == 1)
    try expectWholeFile()
  }

  /// A retry must not replace the file of the first attempt, unless the app allows it.
  @Test(arguments: [true, false]) func retryAfterARejectionNeedsOverwrites(_ overwrites: Bool) async throws {
    let seen = Counter()
    let rejectFirst = Self.inspecting { response in
      if seen.add() == 1 { throw Rejection() }
      return response
    }
    if overwrites {
      #expect(try await download(rejectFirst, overwrites: overwrites).attempts.count == 2)
      #expect(server.values(of: "Range") == [nil, nil])
    } else {
      let error = await #expect(throws: NetworkError.self) { try await download(rejectFirst, overwrites: overwrites) }
      #expect("\(String(describing: error))".contains("file.bin exists") && server.requests.count == 1)
    }
    try expectWholeFile()
  }

  /// The file is at its destination before the call ends.
  @Test func lateCancellationLeavesTheFile() async throws {
    let isComplete = Gate()
    let task = Task {
      try await download(
        Self.inspecting { response in
          isComplete.open()
          try await Task.sleep(for: .seconds(3_600))
          return response
        })
    }
    await isComplete.wait()
    task.cancel()
    #expect(await task.result.isCancelled)
    try expectWholeFile()
  }

  /// The next download only has to move the file. A validation does not take the 416 that confirms it for the status of
  /// the response.
  @Test func keepsACompleteFileThatCannotBeMoved() async throws {
    let file = folder.file()
    let unchanged = Self.inspecting { response in response }
    let error = await #expect(throws: NetworkError.self) {
      try await download(unchanged, validate: { _ in try Data("mine".utf8).write(to: file) })
    }
    guard case .generalError(TransferError.destinationExists(file))? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(folder.text() == "mine" && folder.partialSize == Self.bytes.count && server.requests.count == 1)
    let done = try await download(unchanged, overwrites: true)
    #expect(done.response.statusCode == 416 && server.requests.last?.value("Range") == "bytes=50000-")
    try expectWholeFile()
  }
}
