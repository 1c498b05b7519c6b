#if canImport(FoundationNetworking)
  import Foundation

  /// A body stream. One of a known length gives exactly that many bytes: more would be read as the next request on the
  /// connection, and with less the server would wait. One that cannot be opened or read makes the request fail, where
  /// URLSession would send an empty body.
  nonisolated final class LinuxBodyStream: InputStream {
    private let make: () -> InputStream?
    let length: Int?
    private var first: InputStream?
    private var base: InputStream?
    private var left = 0
    private var hasEnded = false
    /// Whether a server may have received the body, or a part of it.
    let wasRead = NetworkLock(false)

    /// `first` is read the first time, if there is one. Otherwise, and for each further time, `make` is called.
    init(_ length: Int?, _ first: InputStream?, _ make: @escaping () -> InputStream?) {
      self.length = length
      self.first = first
      self.make = make
      super.init(data: Data())
    }

    /// Starts at the first byte, because a request that is sent again with a credential reads its body again.
    override func open() {
      base = first ?? make()
      first = nil
      left = length ?? .max
      hasEnded = false
      // A stream that was read before would be sent empty.
      if let base, [.atEnd, .closed, .error].contains(base.streamStatus) { self.base = nil }
      base?.open()
    }
    override func close() { base?.close() }
    override var streamStatus: Stream.Status { base?.streamStatus ?? .notOpen }
    private var hasFailed: Bool { base.map { $0.streamStatus == .error } ?? true }
    // Even if `base` has none for a moment: URLSession would take that for the end.
    override var hasBytesAvailable: Bool { true }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      wasRead.withLock { $0 = true }
      // libcurl repeats a request whose body is empty without asking for a new stream.
      if hasEnded { return -1 }
      let count = left == 0 ? 0 : readBase(buffer, maxLength: min(maxLength, left))
      if count == 0 { hasEnded = true }
      if length != nil, count > 0 { left -= count }
      return count
    }

    private func readBase(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      guard let base, !hasFailed else { return -1 }
      let count = base.read(buffer, maxLength: maxLength)
      let endsTooEarly = count == 0 && (length != nil || hasFailed)
      return endsTooEarly ? -1 : count
    }
  }
#endif
