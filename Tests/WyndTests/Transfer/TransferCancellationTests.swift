import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Canceling a transfer ends its connection: on a session with one connection, the next transfer can start.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct TransferCancellationTests {
  let session: URLSession
  init() {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 1
    session = URLSession(configuration: configuration)
  }

  /// Responds to `/free`; everything else begins and never ends.
  static func server() throws -> LoopbackServer {
    try LoopbackServer { request in
      switch request.target {
      case "/free": .ok("free")
      case "/silent": .hang
      default:
        ScriptedResponse([
          .send(ScriptedResponse.head(200, [("Content-Type", "text/event-stream"), ("Content-Length", "100")])),
          ScriptedResponse.text("data: a\n\n"), .hang,
        ])
      }
    }
  }

  func request(_ url: URL, _ timeout: TimeInterval = 3_600) -> URLRequest {
    var request = URLRequest(url: url)
    request.timeoutInterval = timeout
    return request
  }

  func expectFree(_ server: LoopbackServer) async throws {
    let bytes = try await session.networkBytes(for: request(server.url("/free"), 20), policy: .never)
    #expect(try await Data(bytes.collected().joined()) == Data("free".utf8))
  }

  @Test(arguments: ["download", "upload", "start of a stream", "stream", "lines", "events"], ["/", "/silent"])
  func cancelingATransferEndsItsConnection(_ kind: String, _ path: String) async throws {
    let server = try Self.server()
    let folder = try Folder()
    let request = request(server.url(path))
    let task = Task {
      switch kind {
      case "download": try await session.performNetworkDownload(request, to: folder.file(), policy: .never)
      case "upload": try await session.performNetworkUpload(request, from: .data(Data("x".utf8)), policy: .never)
      case "start of a stream":
        _ = try await session.networkBytes(for: request, policy: .never)
        try await Task.sleep(for: .seconds(3_600))
      case "stream": for try await _ in try await session.networkBytes(for: request, policy: .never) {}
      case "lines": for try await _ in try await session.networkBytes(for: request, policy: .never).lines {}
      default: for try await _ in session.serverSentEvents(for: request, policy: .never) {}
      }
    }
    await until { server.requests.count == 1 }
    task.cancel()
    _ = await task.result
    try await expectFree(server)
  }

  @Test(arguments: ["stream", "iterator", "lines", "events"])
  func leavingTheLoopEndsTheConnection(_ kind: String) async throws {
    let server = try Self.server()
    let request = request(server.url())
    switch kind {
    case "stream": for try await _ in try await session.networkBytes(for: request) { break }
    case "iterator": _ = try await session.networkBytes(for: request).makeAsyncIterator()
    case "lines": for try await _ in try await session.networkBytes(for: request).lines { break }
    default: for try await _ in session.serverSentEvents(for: request) { break }
    }
    try await expectFree(server)
  }

  /// A cancellation may meet a transfer that is just about to start.
  @Test(arguments: [true, false]) func transferCanceledAtItsStartEnds(isDownload: Bool) async throws {
    let server = try Self.server()
    let folder = try Folder()
    let request = request(server.url("/silent"))
    for _ in 0..<20 {
      for _ in 0..<10 {
        let isStarted = Gate()
        let task = Task {
          isStarted.open()
          if isDownload {
            try await session.performNetworkDownload(request, to: folder.file(), policy: .never)
          } else {
            _ = try await session.networkBytes(for: request, policy: .never)
          }
        }
        await isStarted.wait()
        let end = ContinuousClock.now + .microseconds(.random(in: 0...600))
        while ContinuousClock.now < end {}
        task.cancel()
        _ = await task.result
      }
      try await expectFree(server)
    }
    #expect(folder.names.isEmpty)
  }

  /// The first part is of another version, so the download sends a second request, just as it is cancelled.
  @Test func downloadCanceledDuringARestartEnds() async throws {
    let bytes = someBytes(40_000)
    let hasRestarted = Box(Gate())
    let seen = Box<Set<String>>([])
    let server = try LoopbackServer { request in
      if request.target == "/free" { return .ok("free") }
      if seen.value?.contains(request.target) == false {
        seen.update { $0.insert(request.target) }
        return .file(bytes, for: request, cut: 20_000)
      }
      guard request.value("Range") != nil else { return .hang }
      hasRestarted.value?.open()
      let fields = [("ETag", "\"2\""), ("Content-Range", "bytes 20000-39999/40000"), ("Content-Length", "0")]
      return ScriptedResponse([.send(ScriptedResponse.head(206, fields))])
    }
    for round in 0..<100 {
      let folder = try Folder()
      hasRestarted.value = Gate()
      let request = request(server.url("/\(round)"))
      let task = Task {
        try await session.performNetworkDownload(request, to: folder.file(), policy: .quick())
      }
      await hasRestarted.value?.wait()
      let end = ContinuousClock.now + .microseconds(.random(in: 0...2_000))
      while ContinuousClock.now < end {}
      task.cancel()
      _ = await task.result
      #expect(folder.names.isEmpty)
      if round % 5 == 4 { try await expectFree(server) }
    }
  }

  /// All bytes have come, and the file is about to be put in place.
  @Test func canceledDownloadLeavesTheWholeFileOrNone() async throws {
    let bytes = someBytes(4_000_000)
    let server = try LoopbackServer { .file(bytes, for: $0) }
    for _ in 0..<25 {
      let folder = try Folder()
      let handle = Box<NetworkTask>()
      let result = Box<Result<NetworkResponse<URL>, NetworkError>>()
      let onProgress: @Sendable (TransferProgress) -> Void = { progress in
        guard progress.completed == bytes.count else { return }
        let moment = Duration.microseconds(.random(in: 0...8_000))
        Thread.detachNewThread {
          let end = ContinuousClock.now + moment
          while ContinuousClock.now < end {}
          handle.value?.cancel()
        }
      }
      handle.value = session.performNetworkDownload(
        server.url("/file"), to: folder.file(), resumes: true, policy: .never,
        onProgress: onProgress, completionHandler: { result.value = $0 })
      await until { result.value != nil }
      if case .failure(let error)? = result.value {
        guard case .cancelled = error else { Issue.record("\(error)"); return }
      }
      // Canceled after the move, the file is complete. Canceled before, the destination is free, even if the canceled
      // download is still ending.
      if !folder.names.contains("file.bin") {
        try await session.performNetworkDownload(server.url("/file"), to: folder.file(), resumes: true, policy: .never)
      }
      #expect(try Data(contentsOf: folder.file()) == Data(bytes) && folder.names == ["file.bin"])
    }
  }
}
