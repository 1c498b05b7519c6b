import Foundation
import Glibc

/// A connection to a server, and what has come on it and is not read yet.
final class Connection: @unchecked Sendable {
  enum Loss: Error {
    /// The server closed or reset it.
    case ended, reset
  }

  let socket: Int32
  let key: String
  var buffer = Data()
  var isReused = false
  /// The system took it away from the app. Guarded by the session.
  var isDefunct = false

  init(_ socket: Int32, _ key: String) { (self.socket, self.key) = (socket, key) }
  deinit { close(socket) }

  func shutDown() { _ = shutdown(socket, Int32(SHUT_RDWR)) }

  /// Whether anything arrived while no request was outstanding: the end of the connection, or bytes.
  var hasEvents: Bool {
    var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) != 0
  }

  /// Without waiting for an end of the handshake.
  static func opening(_ host: String, _ port: Int, _ key: String) throws -> Connection {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var addresses: UnsafeMutablePointer<addrinfo>?
    let name = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    guard getaddrinfo(name, "\(port)", &hints, &addresses) == 0 else { throw URLError(.cannotFindHost) }
    defer { freeaddrinfo(addresses) }
    guard let address = addresses?.pointee else { throw URLError(.cannotFindHost) }
    let socket = Glibc.socket(address.ai_family, Int32(SOCK_STREAM.rawValue), 0)
    guard socket >= 0 else { throw URLError(.cannotConnectToHost) }
    let connection = Connection(socket, key)
    var yes: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    _ = fcntl(socket, F_SETFL, O_NONBLOCK)
    // Not inherited by the processes that tests start.
    _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    if connect(socket, address.ai_addr, address.ai_addrlen) != 0, errno != EINPROGRESS {
      throw URLError(.cannotConnectToHost)
    }
    return connection
  }

  var connectError: Int32 {
    var error: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size)
    return error
  }

  /// How many bytes were taken; 0: none for now.
  func write(_ data: Data) throws -> Int {
    let count = data.withUnsafeBytes { send(socket, $0.baseAddress, min($0.count, 65_536), Int32(MSG_NOSIGNAL)) }
    if count >= 0 { return count }
    if errno == EAGAIN || errno == EINTR { return 0 }
    throw Loss.reset
  }

  /// Nil: none for now. False: the end.
  func read() throws -> Bool? {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(socket, &bytes, bytes.count, 0)
    if count >= 0 {
      buffer.append(contentsOf: bytes[0..<count])
      return count > 0
    }
    if errno == EAGAIN || errno == EINTR { return nil }
    throw Loss.reset
  }

  func take(_ count: Int) -> Data {
    defer { buffer = Data(buffer.dropFirst(count)) }
    return Data(buffer.prefix(count))
  }
}

/// The connections of a session. Guarded by the session.
final class ConnectionPool: @unchecked Sendable {
  private var idle: [String: [Connection]] = [:]
  private var used: [String: Int] = [:]
  private var waiting: [String: [URLSessionTask]] = [:]
  private var open: [ObjectIdentifier: Connection] = [:]
  private var isClosed = false

  /// A place among the connections of a host, at once or in turn.
  func reserve(_ key: String, limit: Int, _ task: URLSessionTask) {
    task.hasPlace = used[key, default: 0] < limit
    if task.hasPlace { used[key, default: 0] += 1 } else { waiting[key, default: []].append(task) }
  }

  /// An idle connection that is not known to be closed.
  func reuse(_ key: String) -> Connection? {
    while let connection = idle[key]?.popLast() {
      // [note] forums 724950: what the system took away while the app was suspended is used again, and fails then.
      if connection.hasEvents, !connection.isDefunct { continue }
      connection.isReused = true
      open[ObjectIdentifier(connection)] = connection
      return connection
    }
    return nil
  }
  func add(_ connection: Connection) { open[ObjectIdentifier(connection)] = connection }
  func remove(_ connection: Connection) { open[ObjectIdentifier(connection)] = nil }

  func giveBack(_ key: String, _ connection: Connection?, canBeReused: Bool) {
    let next = waiting[key, default: []].drop(while: \.isCancelled)
    waiting[key] = Array(next.dropFirst())
    if let task = next.first {
      task.hasPlace = true
      task.turn.signal()
    } else {
      used[key, default: 1] -= 1
    }
    guard let connection else { return }
    remove(connection)
    if canBeReused, !isClosed, !connection.isDefunct { idle[key, default: []].append(connection) }
  }

  func defunctAll() {
    for connection in Array(open.values) + idle.values.joined() {
      connection.isDefunct = true
      connection.shutDown()
    }
  }
  func removeAll() { (idle, isClosed) = ([:], true) }
}
