import Dispatch
import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transfer ends with the session on which it was started, even if its tasks run on another.
extension CancellationTests {
  static let transfers = ["download", "upload", "stream", "redirect", "HTTP"]

  private static func transfer(_ kind: String, _ server: LoopbackServer, _ session: URLSession) async throws {
    var request = URLRequest(url: server.url(kind == "redirect" ? "/hop" : "/"))
    switch kind {
    case "upload":
      request.httpMethod = "PUT"
      _ = try await session.performNetworkUpload(request, from: .data(Data("x".utf8)), policy: .never)
    case "stream": for try await _ in try await session.networkBytes(for: request, policy: .never) {}
    default:
      if kind == "HTTP" { request.url = URL(string: "HTTP://127.0.0.1:\(server.port)/") }
      let folder = try Folder()
      _ = try await session.performNetworkDownload(request, to: folder.file(), policy: .never)
    }
  }

  private final class Owner: NSObject, URLSessionDelegate {
    let isTold = Counter()
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { isTold.add() }
  }

  @Test(arguments: transfers) func invalidatingTheSessionCancelsItsTransfers(_ kind: String) async throws {
    let server = try LoopbackServer { $0.target == "/hop" ? .redirect(to: "/there") : .stall }
    let owner = Owner()
    let session = URLSession(configuration: .default, delegate: owner, delegateQueue: nil)
    let task = Task { try await Self.transfer(kind, server, session) }
    await until { server.requests.count == (kind == "redirect" ? 2 : 1) }
    session.invalidateAndCancel()
    let error = await #expect(throws: NetworkError.self) { try await task.value }
    #expect(error?.urlError?.code == .cancelled, "\(String(describing: error))")
    await owner.isTold.reaches(1)
  }

  /// The task exists by then: URLSession would crash otherwise.
  @Test(arguments: [true, false]) func sessionCanBeInvalidatedWhenTheFirstAttemptStarts(isAsync: Bool) async throws {
    let server = try LoopbackServer { _ in .ok("x") }
    for number in 0..<300 {
      let session = URLSession(configuration: .ephemeral)
      let isCanceled = number.isMultiple(of: 2)
      var policy = RetryPolicy.never
      policy.onEvent = { event in
        guard case .attemptStarted = event.kind else { return }
        if isCanceled { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
      }
      let result =
        isAsync
        ? await session.result(of: URLRequest(url: server.url()), policy: policy)
        : await withCheckedContinuation { continuation in
          session.performNetworkRequest(server.url(), policy: policy) { continuation.resume(returning: $0) }
        }
      if !isCanceled { #expect(result.error == nil) }
    }
  }

  @Test(arguments: transfers) func finishingSessionWaitsForItsTransfers(_ kind: String) async throws {
    let goesOn = DispatchSemaphore(value: 0)
    let server = try LoopbackServer { request in
      if request.index == 0 { goesOn.wait() }
      return request.target == "/hop" ? .redirect(to: "/there") : .ok()
    }
    let owner = Owner()
    let session = URLSession(configuration: .default, delegate: owner, delegateQueue: nil)
    let task = Task { try await Self.transfer(kind, server, session) }
    await until { server.requests.count == 1 }
    session.finishTasksAndInvalidate()
    #if canImport(FoundationNetworking)
      await until { session.isInvalidated }
      await withCheckedContinuation { continuation in session.delegateQueue.addOperation { continuation.resume() } }
    #endif
    #expect(owner.isTold.value == 0)
    goesOn.signal()
    try await task.value
    await owner.isTold.reaches(1)
  }

  /// After a redirect the request is sent on another session on Linux.
  @Test func invalidatingTheSessionCancelsARedirectedRequest() async throws {
    let server = try LoopbackServer { $0.target == "/hop" ? .redirect(to: "/there") : .stall }
    let session = URLSession(configuration: .default)
    let request = URLRequest(url: server.url("/hop"))
    let task = Task { await session.result(of: request, policy: .never).error }
    await until { server.requests.count == 2 }
    session.invalidateAndCancel()
    let error = await task.value
    #expect(error?.urlError?.code == .cancelled, "\(String(describing: error))")
    await until { server.openRequests == 0 }
  }

  @Test func invalidatingTheSessionDuringRedirectsDoesNotCrash() async throws {
    for round in 0..<100 {
      let server = try LoopbackServer { $0.index < 16 ? .redirect(to: "/\($0.index)") : .stall }
      let session = URLSession(configuration: .default)
      let task = Task { try await Self.transfer("download", server, session) }
      await until { server.requests.count > round % 16 }
      session.invalidateAndCancel()
      await #expect(throws: NetworkError.self) { try await task.value }
    }
  }

  #if canImport(FoundationNetworking)
    /// Creating a task on an invalidated session stops the process: a session may end at any moment after a call began.
    @Test(arguments: ["redirect", "retry", "client"])
    func sessionCanBeInvalidatedDuringACall(_ kind: String) async throws {
      let policy = RetryPolicy(maxRetries: 20, backoff: .immediate, budget: nil)
      for round in 0..<40 {
        let session = URLSession(configuration: .ephemeral)
        let end: @Sendable () -> Void = {
          if round % 2 == 0 { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
        }
        let server = try LoopbackServer { request in
          if request.index == round % 8 {
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(round * 30), execute: end)
          }
          return kind == "redirect" ? .redirect(to: "/\(request.index)") : .status(503)
        }
        let results = Counter()
        if kind == "client" {
          let client = NetworkClient(session: session, policy: policy)
          client.performNetworkRequest(URLRequest(url: server.url())) { _ in results.add() }
        } else {
          session.performNetworkRequest(server.url(), policy: policy) { _ in results.add() }
        }
        await results.reaches(1)
      }
    }

    @Test func transferOnAnInvalidatedSessionIsCancelled() async throws {
      let server = try LoopbackServer(script: .ok())
      let session = URLSession(configuration: .default)
      session.invalidateAndCancel()
      let error = await #expect(throws: NetworkError.self) { try await Self.transfer("download", server, session) }
      #expect(error?.urlError?.code == .cancelled)
    }

    @Test(arguments: ["GET", "POST"]) func callOnAnInvalidatedSessionIsCancelled(_ method: String) async throws {
      let server = try LoopbackServer(script: .ok())
      for cancelsTasks in [true, false] {
        let session = URLSession(configuration: .default)
        if cancelsTasks { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
        await until { session.isInvalidated }
        let result = await session.result(of: URLRequest(url: server.url(), method: method))
        #expect(result.error?.urlError?.code == .cancelled)
      }
      #expect(server.requests.isEmpty)
    }
  #endif
}
