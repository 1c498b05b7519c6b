public import Foundation

/// An HTTP/1.1 server on a free port of 127.0.0.1 whose faults are scripted. Each test makes its own; it stops when the
/// object is released.
///
/// ```swift
/// let server = try LoopbackServer(script: .reset, .status(503), .ok("hello"))
/// let data = try await session.performNetworkRequest(server.url("/greeting"))
/// #expect(server.requests.count == 3)
/// ```
public final class LoopbackServer: Sendable {
  /// Why a server could not be started.
  public enum Failure: Error {
    /// `socket`, `bind` or `getsockname` failed with this errno.
    case noSocket(Int32)
  }

  private let core: Core

  /// Starts a server that sends what `respond` returns. `respond` may block, because each connection has its own thread.
  ///
  /// - Parameters:
  ///   - isListening: If false, connections are refused until ``listen()`` is called.
  ///   - isRecording: If false, ``requests`` stays empty, so that long runs need no memory for it.
  ///   - onConnect: Called for each connection (counted from 0) before anything is read; nil reads the request.
  ///   - beforeBody: Called when the headers have been read and the body has not; nil reads the body.
  ///   - respond: Called when the whole request has been read.
  /// - Throws: ``Failure`` if no socket can be created.
  public init(
    isListening: Bool = true, isRecording: Bool = true,
    onConnect: @escaping @Sendable (Int) -> ScriptedResponse? = { _ in nil },
    beforeBody: @escaping @Sendable (Request) -> ScriptedResponse? = { _ in nil },
    respond: @escaping @Sendable (Request) -> ScriptedResponse
  ) throws {
    core = try Core(isRecording: isRecording, onConnect: onConnect, beforeBody: beforeBody, respond: respond)
    if isListening { listen() }
  }

  /// Sends the first response to the first request, and so on. All further requests get the last response.
  public convenience init(script: ScriptedResponse...) throws {
    try self.init { $0.index < script.count ? script[$0.index] : script.last ?? .ok() }
  }

  deinit { stop() }

  /// Starts to accept connections.
  public func listen() { core.listen() }
  /// Ends all connections and frees the port.
  public func stop() { core.stop() }
  /// The port on 127.0.0.1.
  public var port: UInt16 { core.port }
  /// All requests whose headers have been read, in the order of their arrival.
  public var requests: [Request] { core.lock.withLock { core.requests } }
  /// The number of requests whose headers have been read and whose response has not ended.
  public var openRequests: Int { core.lock.withLock { core.openRequests } }

  /// The URL of a path.
  public func url(_ path: String = "/") -> URL {
    URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: "/")
  }
}

/// The state that the threads share. They may outlive the server object.
private final class Core: @unchecked Sendable {
  let port: UInt16
  let lock = NSLock()
  private let listener: Socket
  private let isRecording: Bool
  private let onConnect: @Sendable (Int) -> ScriptedResponse?
  private let beforeBody: @Sendable (LoopbackServer.Request) -> ScriptedResponse?
  private let respond: @Sendable (LoopbackServer.Request) -> ScriptedResponse
  // Under the lock.
  var requests: [LoopbackServer.Request] = []
  private var connections: [Int: Socket] = [:]
  private var requestCount = 0
  private var connectionCount = 0
  var openRequests = 0
  private var isListening = false
  private var isStopped = false

  init(
    isRecording: Bool, onConnect: @escaping @Sendable (Int) -> ScriptedResponse?,
    beforeBody: @escaping @Sendable (LoopbackServer.Request) -> ScriptedResponse?,
    respond: @escaping @Sendable (LoopbackServer.Request) -> ScriptedResponse
  ) throws {
    (listener, port) = try Socket.bound()
    self.isRecording = isRecording
    self.onConnect = onConnect
    self.beforeBody = beforeBody
    self.respond = respond
  }

  func listen() {
    guard listener.listen() else { return }
    lock.withLock { isListening = true }
    Thread.detachNewThread { self.acceptAll() }
  }

  func stop() {
    lock.withLock {
      guard !isStopped else { return }
      isStopped = true
      for socket in connections.values { socket.shutDown() }
      // A thread that waits in `accept` closes the listener itself. Otherwise its descriptor could be reused meanwhile.
      if isListening { listener.shutDown() } else { listener.end(reset: false) }
    }
  }

  private func acceptAll() {
    while let socket = listener.accepted() {
      let id: Int? = lock.withLock {
        guard !isStopped else { return nil }
        connectionCount += 1
        connections[connectionCount - 1] = socket
        return connectionCount - 1
      }
      guard let id else {
        socket.end(reset: false)
        break
      }
      Thread.detachNewThread { self.serve(socket, id) }
    }
    lock.withLock { listener.end(reset: false) }
  }

  private func serve(_ socket: Socket, _ id: Int) {
    var reader = RequestReader(socket: socket)
    var count = 0
    var end = onConnect(id).flatMap { perform($0.steps, on: socket) }
    while end == nil, var request = reader.head(connection: id, indexOnConnection: count) {
      count += 1
      defer { lock.withLock { openRequests -= 1 } }
      lock.withLock {
        openRequests += 1
        request.index = requestCount
        requestCount += 1
        if isRecording { requests.append(request) }
      }
      var response = beforeBody(request)
      if response == nil {
        guard let body = reader.body(of: request) else { break }
        request.body = body
        request.isComplete = true
        if isRecording { lock.withLock { requests[request.index] = request } }
        response = respond(request)
      }
      end = perform(response?.steps ?? [], on: socket)
    }
    lock.withLock {
      connections[id] = nil
      socket.end(reset: end == .reset)
    }
  }

  private enum End { case gone, close, reset }

  /// Performs the steps; nil if the connection can be used further.
  private func perform(_ steps: [ScriptedResponse.Step], on socket: Socket) -> End? {
    for step in steps {
      switch step {
      case .send(let bytes): if !socket.write(bytes) { return .gone }
      case .pause(let milliseconds): if socket.isGone(within: milliseconds) { return .gone }
      case .hang:
        while !socket.isGone(within: 60_000) {}
        return .gone
      case .close: return .close
      case .reset: return .reset
      }
    }
    return nil
  }
}

/// Reads requests from a connection.
private struct RequestReader {
  let socket: Socket
  var buffer: [UInt8] = []

  mutating func head(connection: Int, indexOnConnection: Int) -> LoopbackServer.Request? {
    guard let lines = readLines() else { return nil }
    let start = (lines.first ?? "").split(separator: " ", maxSplits: 2).map(String.init)
    guard start.count == 3 else { return nil }
    let headers = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      return (name: String(parts[0]), value: parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
    }
    return .init(
      method: start[0], target: start[1], headers: headers, body: [], connection: connection, index: 0,
      indexOnConnection: indexOnConnection)
  }

  mutating func body(of request: LoopbackServer.Request) -> [UInt8]? {
    if request.value("Transfer-Encoding")?.lowercased() == "chunked" {
      var body: [UInt8] = []
      while true {
        guard let line = readLine(), let size = Int(line.prefix { $0 != ";" }, radix: 16), let chunk = read(size),
          readLine() != nil
        else { return nil }
        if size == 0 { return body }
        body += chunk
      }
    }
    return read(request.value("Content-Length").flatMap { Int($0) } ?? 0)
  }

  private mutating func readLines() -> [String]? {
    var lines: [String] = []
    while let line = readLine() {
      if line.isEmpty { return lines }
      lines.append(line)
    }
    return nil
  }

  private mutating func readLine() -> String? {
    var searched = 0
    while true {
      if let end = buffer[searched...].firstIndex(of: 10) {
        let line = buffer[..<end].filter { $0 != 13 }
        buffer.removeSubrange(...end)
        return String(decoding: line, as: UTF8.self)
      }
      searched = buffer.count
      guard let more = socket.read() else { return nil }
      buffer += more
    }
  }

  private mutating func read(_ count: Int) -> [UInt8]? {
    while buffer.count < count {
      guard let more = socket.read() else { return nil }
      buffer += more
    }
    defer { buffer.removeSubrange(..<count) }
    return Array(buffer[..<count])
  }
}
