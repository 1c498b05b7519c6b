import AllocationCounter
import Foundation
import LoopbackServer
@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What is left after a call: nothing. Makes 1,000 calls of each kind, with a response, with an error, over a lost connection
/// and canceled at some moment, and looks for objects of the caller, table entries, files, descriptors and memory. It is a
/// program of its own because other tests would leave things meanwhile. Linux only, which tells the descriptors.
@main struct WhatIsLeft {
  static func main() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "what-is-left-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // Foundation makes temporary files in this folder.
    setenv("TMPDIR", folder.path, 1)
    var isRight = true
    // The first calls make what stays, such as queues.
    for kind in kinds { _ = try await left(after: 40, of: kind, in: folder) }
    for kind in kinds {
      let left = try await left(after: 1_000, of: kind, in: folder)
      print("1,000 calls of \(kind.name): \(left.isEmpty ? "nothing is left" : left.joined(separator: ", "))")
      if !left.isEmpty { isRight = false }
    }
    try FileManager.default.removeItem(at: folder)
    exit(isRight ? 0 : 1)
  }

  // MARK: - The calls

  struct Kind: Sendable {
    let name: String
    var isEvents = false
    let call: @Sendable (Call) async throws -> Void
    init(_ name: String, isEvents: Bool = false, _ call: @escaping @Sendable (Call) async throws -> Void) {
      self.name = name
      self.isEvents = isEvents
      self.call = call
    }
  }
  struct Call: Sendable {
    let session: URLSession
    let client: NetworkClient
    let caches: [ResponseCache]
    let url: URL
    let folder: URL
    let number: Int
    let policy: RetryPolicy
    let held = Held()
    var file: URL { folder.appending(path: "\(number)") }
    var put: URLRequest {
      var request = URLRequest(url: url)
      request.httpMethod = "PUT"
      return request
    }
    /// Waits for a form with a completion handler, and cancels it with this task.
    func handler<Value: Sendable>(_ start: (@escaping @Sendable (Value) -> Void) -> NetworkTask) async {
      let task = NetworkLock<NetworkTask?>(nil)
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let started = start { [held] _ in
            _ = held
            continuation.resume()
          }
          task.withLock { $0 = started }
          if _Concurrency.Task.isCancelled { started.cancel() }
        }
      } onCancel: {
        task.withLock { $0 }?.cancel()
      }
    }
  }

  static let kinds: [Kind] = [
    Kind("performNetworkRequest") { _ = try await $0.session.performNetworkRequest($0.url, policy: $0.policy) },
    Kind("performNetworkRequest { }") { call in
      await call.handler { call.session.performNetworkRequest(call.url, policy: call.policy, completionHandler: $0) }
    },
    Kind("networkDataTask") { call in
      await call.handler { end in
        let task = call.session.networkDataTask(with: call.url, policy: call.policy) { _, _, _ in end(()) }
        task.resume()
        return task
      }
    },
    Kind("networkDataTask without resume") { call in
      _ = call.session.networkDataTask(with: call.url, policy: call.policy) { [held = call.held] _, _, _ in _ = held }
    },
    Kind("load { }") { call in
      await call.handler {
        call.session.load(.get(call.url, as: Data.self), policy: call.policy, completionHandler: $0)
      }
    },
    Kind("a client") { _ = try await $0.client.performNetworkRequest($0.url, policy: $0.policy) },
    Kind("a client { }") { call in
      await call.handler { call.client.networkResponse(for: call.url, policy: call.policy, completionHandler: $0) }
    },
    Kind("a cache") { _ = try await $0.caches[0].performNetworkRequest($0.url, policy: $0.policy) },
    Kind("a cache in a folder") { _ = try await $0.caches[1].performNetworkRequest($0.url, policy: $0.policy) },
    Kind("values(of:)") { call in
      var client = call.client
      client.performer = call.caches[0]
      for try await _ in client.values(of: .get(call.url, as: Data.self), policy: call.policy) {}
    },
    Kind("a download") { call in
      try await call.session.performNetworkDownload(call.url, to: call.file, policy: call.policy) {
        [held = call.held] _ in
        _ = held
      } validate: { [held = call.held] _ in
        _ = held
      }
    },
    Kind("a download that resumes { }") { call in
      await call.handler {
        call.session.performNetworkDownload(
          call.url, to: call.file, resumes: true, policy: call.policy, onProgress: { [held = call.held] _ in _ = held },
          validate: { [held = call.held] _ in _ = held }, completionHandler: $0)
      }
      NetworkPartialDownload.remove(for: call.file)
    },
    Kind("an upload of a file") { call in
      let body = RequestBody.file(call.folder.appending(path: "body"))
      try await call.session.performNetworkUpload(call.put, from: body, policy: call.policy)
    },
    Kind("an upload of a form") { call in
      let form = RequestBody.multipart([
        .text("name", "value"), .file("file", call.folder.appending(path: "body")),
      ])
      try await call.session.performNetworkUpload(call.put, from: form, policy: call.policy) { [held = call.held] _ in
        _ = held
      }
    },
    Kind("POST") { call in
      var request = call.put
      request.httpMethod = "POST"
      _ = try await call.session.performNetworkRequest(request, policy: call.policy)
    },
    Kind("a stream") { call in
      for try await _ in try await call.session.networkBytes(for: call.url, policy: call.policy) {}
    },
    Kind("a stream that is not read") { call in
      _ = try await call.session.networkBytes(for: call.url, policy: call.policy)
    },
    Kind("events", isEvents: true) { call in
      for try await _ in call.session.serverSentEvents(for: call.url, reconnects: false, policy: call.policy) { break }
    },
  ]

  static func server() throws -> LoopbackServer {
    let body = [UInt8](repeating: 120, count: 100_000)
    return try LoopbackServer(isRecording: false) { request in
      if request.target.hasSuffix("error") { return .status(500) }
      if request.target.hasSuffix("lost") { return .reset }
      if request.target.hasSuffix("hang") { return .hang }
      if request.target.hasPrefix("/events") {
        return .ok(Array("data: x\n\n".utf8), [("Content-Type", "text/event-stream")])
      }
      return .ok(body, [("ETag", "\"1\""), ("Cache-Control", "max-age=60")])
    }
  }

  /// Makes calls, ten at a time, and returns what is left when all have ended and the session has been invalidated.
  static func left(after count: Int, of kind: Kind, in root: URL) async throws -> [String] {
    let folder = root.appending(path: "files")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(repeating: 120, count: 20_000).write(to: folder.appending(path: "body"))
    let before = (memory: memoryInUse(), descriptors: descriptors())
    var sources: Sources? = try makeSources(root.appending(path: "cache"))
    if let sources { await run(count, kind, sources, folder) }
    sources?.session.finishTasksAndInvalidate()
    sources?.server.stop()
    sources = nil
    return try await leftOver(count, before, (folder, root))
  }

  typealias Sources = (server: LoopbackServer, session: URLSession, client: NetworkClient, caches: [ResponseCache])
  static func makeSources(_ folder: URL) throws -> Sources {
    let server = try server()
    let session = URLSession(configuration: .ephemeral)
    let authentication = Authentication(for: server.url(), BearerToken("token")) { [held = Held()] token, _ in
      _ = held
      return token
    }
    let client = NetworkClient(
      on: session,
      middleware: [
        authentication,
        .around { [held = Held()] request, next in
          _ = held
          return try await next(request)
        },
      ])
    let memory = ResponseCache(capacity: 100_000, on: session)
    return (server, session, client, [memory, try ResponseCache(in: folder, capacity: 100_000, on: session)])
  }

  static func run(_ count: Int, _ kind: Kind, _ sources: Sources, _ folder: URL) async {
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        if number >= 10 { await group.next() }
        group.addTask {
          let outcome = ["ok", "error", "lost", "hang"][number % 4]
          let held = Held()
          let policy = RetryPolicy(
            maxRetries: 1, backoff: .immediate, deadline: .seconds(3_600), budget: .unlimited,
            shouldRetry: { _ in
              _ = held
              return true
            }, onEvent: { _ in _ = held })
          let call = Call(
            session: sources.session, client: sources.client, caches: sources.caches,
            url: sources.server.url("/\(kind.isEvents ? "events" : "data")/\(number)/\(outcome)"), folder: folder,
            number: number, policy: policy)
          let task = Task { try await kind.call(call) }
          if outcome == "hang" {
            // At any moment of the call.
            try? await Task.sleep(for: .microseconds(.random(in: 0...5_000)))
            task.cancel()
          }
          _ = await task.result
          try? FileManager.default.removeItem(at: call.file)
        }
      }
    }
  }

  // MARK: - What is left

  static func leftOver(
    _ count: Int, _ before: (memory: Int, descriptors: [String]), _ folders: (files: URL, root: URL)
  ) async throws -> [String] {
    // A connection is closed by a thread of libcurl.
    var left: [String] = []
    for _ in 0..<500 {
      left = try leftNow(count, before, folders)
      if left.isEmpty { break }
      try await Task.sleep(for: .milliseconds(20))
    }
    return left
  }

  static func leftNow(
    _ count: Int, _ before: (memory: Int, descriptors: [String]), _ folders: (files: URL, root: URL)
  ) throws -> [String] {
    var left: [String] = []
    // The private session of a released session ends when another one is made. This one sends nothing.
    _ = NetworkPrivateSession.of(URLSession(configuration: .ephemeral)) { URLSession(configuration: .ephemeral) }
    let sessions = NetworkPrivateSession.known.withLock { $0.count }
    if sessions > 1 { left.append("\(sessions - 1) private sessions") }
    let stores = ResponseStore.inUse.withLock { inUse in inUse.filter { $0.store != nil }.count }
    if stores > 0 { left.append("\(stores) caches in a folder") }
    if Held.count > 0 { left.append("\(Held.count) objects of the caller") }
    let files = try FileManager.default.contentsOfDirectory(atPath: folders.files.path).filter { $0 != "body" }
    if !files.isEmpty { left.append("\(files.count) files beside a destination, such as \(files[0])") }
    let temporary = try FileManager.default.contentsOfDirectory(atPath: folders.root.path).filter {
      $0 != "files" && $0 != "cache"
    }
    if !temporary.isEmpty { left.append("\(temporary.count) temporary files, such as \(temporary[0])") }
    let now = descriptors()
    let more = now.count - before.descriptors.count
    if more > 0 {
      let new = now.filter { !before.descriptors.contains($0) }
      left.append("\(more) descriptors, of \(new.joined(separator: ", "))")
    }
    let partial = NetworkPartialFile.used.withLock { $0.count }
    if partial > 0 { left.append("\(partial) partial files in use") }
    #if canImport(FoundationNetworking)
      let hosts = LinuxConnectionLimit.hosts.withLock { $0.count }
      if hosts > 0 { left.append("\(hosts) entries of the limit of connections") }
    #endif
    // A quarter of the calls receives 100,000 bytes. Some 300 bytes of each call are left, by URLSession.
    let bytes = (memoryInUse() - before.memory) / count
    if count >= 1_000, bytes > 2_000 { left.append("\(bytes) bytes for each call") }
    return left
  }

  /// The open descriptors with what they are, such as `12 socket:[4711]`, but for those that Dispatch makes for itself.
  ///
  /// URLSession asks Dispatch to watch a socket that libcurl may have closed by then. If an upload has opened its file
  /// under the same number, epoll refuses it, and Dispatch makes an eventfd in its place, which it keeps.
  static func descriptors() -> [String] {
    let folder = "/proc/self/fd"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    // The descriptor that lists the folder is closed by now.
    return numbers.compactMap { number in
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(number)")
      guard let target, !target.hasPrefix("anon_inode:") else { return nil }
      return "\(number) \(target)"
    }
  }
  static func memoryInUse() -> Int { Int(heapBytes()) }
}

/// An object that a call retains.
final class Held: Sendable {
  private static let living = NetworkLock(0)
  static var count: Int { living.withLock { $0 } }
  init() { Self.living.withLock { $0 += 1 } }
  deinit { Self.living.withLock { $0 -= 1 } }
}
