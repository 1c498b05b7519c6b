import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// A TCP socket on 127.0.0.1, the same on all platforms.
struct Socket: Sendable {
  let descriptor: Int32

  /// A socket that is bound to a free port and does not listen yet, so connections to it are refused.
  static func bound() throws -> (Socket, port: UInt16) {
    #if canImport(Glibc)
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { throw LoopbackServer.Failure.noSocket(errno) }
    var address = sockaddr_in()
    #if canImport(Darwin)
      address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    #endif
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard bound else {
      let code = errno
      close(descriptor)
      throw LoopbackServer.Failure.noSocket(code)
    }
    return (Socket(descriptor: descriptor), UInt16(bigEndian: address.sin_port))
  }

  /// A connection to a port of 127.0.0.1.
  static func connected(to port: UInt16) -> Socket? {
    #if canImport(Glibc)
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    #if canImport(Darwin)
      address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    #endif
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    if isConnected { return Socket(descriptor: descriptor) }
    close(descriptor)
    return nil
  }

  func listen() -> Bool {
    #if canImport(Glibc)
      Glibc.listen(descriptor, 1024) == 0
    #elseif canImport(Musl)
      Musl.listen(descriptor, 1024) == 0
    #elseif canImport(Android)
      Android.listen(descriptor, 1024) == 0
    #else
      Darwin.listen(descriptor, 1024) == 0
    #endif
  }

  func accepted() -> Socket? {
    let client = accept(descriptor, nil, nil)
    guard client >= 0 else { return nil }
    var on: Int32 = 1
    setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    #if canImport(Darwin)
      setsockopt(client, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
    return Socket(descriptor: client)
  }

  /// Up to 64 KB; nil at the end of the stream, on an error, and after `shutDown`.
  func read() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  func write(_ bytes: [UInt8]) -> Bool {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Waits until the peer has closed the connection or the time is over, and returns whether it has closed it. Discards
  /// everything that the peer sends.
  func isGone(within milliseconds: Int32) -> Bool {
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    while true {
      let left = (end - .now).components
      let wait = max(0, left.seconds * 1000 + (left.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
      var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = withUnsafeMutablePointer(to: &poll) { systemPoll($0, Int32(clamping: wait)) }
      if ready < 0 { return true }
      if ready == 0 { return false }
      if read() == nil { return true }
    }
  }

  /// Ends reads and writes of other threads. The descriptor stays in use until `end(reset:)`.
  func shutDown() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Like `shutDown()` without FIN, so that RST can follow.
  func shutDownReading() { _ = shutdown(descriptor, Int32(SHUT_RD)) }

  /// Closes the socket with FIN, or with RST if `reset` is true.
  func end(reset: Bool) {
    if reset {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }
    _ = close(descriptor)
  }
}

private func systemPoll(_ descriptor: UnsafeMutablePointer<pollfd>, _ milliseconds: Int32) -> Int32 {
  poll(descriptor, 1, milliseconds)
}
