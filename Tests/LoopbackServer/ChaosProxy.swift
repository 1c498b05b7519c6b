import Foundation

/// A TCP proxy on 127.0.0.1 that delays, cuts and corrupts what goes through it, at random moments and in both directions.
///
/// It never cuts a response inside its headers, because on Linux that crashes the process of any client. It corrupts only
/// what a client can detect: the framing and the content coding.
public final class ChaosProxy: Sendable {
  /// The probability of each fault for a request.
  public struct Faults: Sendable {
    /// The connection ends while the request is being sent.
    public var cutInRequest = 0.03
    /// The connection ends after the request and before the response.
    public var cutBeforeResponse = 0.05
    /// The connection ends inside the body of the response.
    public var cutInBody = 0.05
    /// The response is not HTTP, or its body is not coded as Content-Encoding says.
    public var corrupt = 0.03
    /// A pause of up to 30 ms.
    public var delay = 0.1
    /// Creates the default probabilities.
    public init() {}
  }

  private let core: ProxyCore

  /// Forwards to `target`, a port on 127.0.0.1.
  ///
  /// - Throws: ``LoopbackServer/Failure`` if no socket can be created.
  public init(to target: UInt16, faults: Faults = Faults(), seed: UInt64) throws {
    core = try ProxyCore(target: target, faults: faults, seed: seed)
    Thread.detachNewThread { [core] in core.acceptAll() }
  }

  deinit { stop() }

  /// The port on 127.0.0.1.
  public var port: UInt16 { core.port }
  /// The number of connections that were cut or corrupted.
  public var faultCount: Int { core.lock.withLock { core.faultCount } }
  /// Ends all connections and frees the port.
  public func stop() { core.stop() }
}

private final class ProxyCore: @unchecked Sendable {
  let port: UInt16
  let lock = NSLock()
  private let listener: Socket
  private let target: UInt16
  private let faults: ChaosProxy.Faults
  // Under the lock.
  var faultCount = 0
  private var state: UInt64
  private var open: [ObjectIdentifier: Line] = [:]
  private var isStopped = false

  init(target: UInt16, faults: ChaosProxy.Faults, seed: UInt64) throws {
    (listener, port) = try Socket.bound()
    self.target = target
    self.faults = faults
    state = seed
    _ = listener.listen()
  }

  func acceptAll() {
    while let client = listener.accepted() {
      guard let server = Socket.connected(to: target) else {
        client.end(reset: true)
        continue
      }
      let line = Line(client: client, server: server)
      let isStopped = lock.withLock {
        if !self.isStopped { open[ObjectIdentifier(line)] = line }
        return self.isStopped
      }
      if isStopped { line.end(reset: false) }
      Thread.detachNewThread { self.forwardRequests(line) }
      Thread.detachNewThread { self.forwardResponses(line) }
    }
    listener.end(reset: false)
  }

  func stop() {
    let lines = lock.withLock {
      isStopped = true
      return Array(open.values)
    }
    for line in lines { line.end(reset: false) }
    listener.shutDown()
  }

  private func chance(_ probability: Double) -> Bool { number() < probability }

  private func number() -> Double {
    lock.withLock {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return Double((z ^ (z >> 31)) >> 11) / Double(1 << 53)
    }
  }

  private func pause() { if chance(faults.delay) { usleep(UInt32(number() * 30_000)) } }

  private func fault(_ line: Line) {
    lock.withLock { faultCount += 1 }
    line.end(reset: chance(0.5))
  }

  private func forwardRequests(_ line: Line) {
    while let bytes = line.client.read() {
      pause()
      if chance(faults.cutInRequest) {
        _ = line.server.write(Array(bytes.prefix(Int(number() * Double(bytes.count)))))
        fault(line)
        break
      }
      if !line.server.write(bytes) { break }
    }
    line.end(reset: false)
    line.leave { lock.withLock { open[ObjectIdentifier(line)] = nil } }
  }

  private func forwardResponses(_ line: Line) {
    var buffer: [UInt8] = []
    responses: while let (head, length) = readHead(line, &buffer) {
      pause()
      if chance(faults.cutBeforeResponse) {
        fault(line)
        break
      }
      if chance(faults.corrupt) {
        let garbage =
          chance(0.5)
          ? "I do not speak HTTP\r\n\r\n" : "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"
        _ = line.client.write(Array(garbage.utf8))
        fault(line)
        break
      }
      let cut = chance(faults.cutInBody) && length > 0 ? Int(number() * Double(length)) : nil
      if !line.client.write(head) { break }
      var left = length
      while left > 0 {
        if buffer.isEmpty {
          guard let more = line.server.read() else { break responses }
          buffer = more
        }
        let piece = Array(buffer.prefix(min(left, buffer.count)))
        buffer.removeFirst(piece.count)
        if let cut, length - left + piece.count > cut {
          _ = line.client.write(Array(piece.prefix(max(0, cut - (length - left)))))
          fault(line)
          break responses
        }
        pause()
        if !line.client.write(piece) { break responses }
        left -= piece.count
      }
    }
    line.end(reset: false)
    line.leave { lock.withLock { open[ObjectIdentifier(line)] = nil } }
  }

  /// The headers of a response with the empty line after them, and its Content-Length.
  private func readHead(_ line: Line, _ buffer: inout [UInt8]) -> ([UInt8], Int)? {
    while true {
      let text = String(decoding: buffer, as: UTF8.self)
      if let end = text.utf8.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound {
        let size = text.utf8.distance(from: text.utf8.startIndex, to: end)
        let head = Array(buffer[..<size])
        buffer.removeFirst(size)
        let length = text.lowercased().components(separatedBy: "content-length: ").dropFirst().first?
          .prefix { $0.isNumber }
        return (head, length.flatMap { Int($0) } ?? 0)
      }
      guard let more = line.server.read() else { return nil }
      buffer += more
    }
  }
}

/// The two sockets of a connection. They are closed when both threads have called `leave`.
private final class Line: @unchecked Sendable {
  let client: Socket
  let server: Socket
  private let lock = NSLock()
  private var threads = 2
  private var isReset = false

  init(client: Socket, server: Socket) { (self.client, self.server) = (client, server) }

  func end(reset: Bool) {
    lock.withLock {
      if threads == 0 { return }
      isReset = isReset || reset
      if isReset { client.shutDownReading() } else { client.shutDown() }
      server.shutDown()
    }
  }

  func leave(_ last: () -> Void) {
    let isLast = lock.withLock {
      threads -= 1
      if threads == 0 {
        client.end(reset: isReset)
        server.end(reset: false)
      }
      return threads == 0
    }
    if isLast { last() }
  }
}
