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
    /// What has become of the body.
    struct Reading: Sendable {
      /// Whether a server may have received the body, or a part of it.
      var hasStarted = false
      /// Why the body cannot be read, or ended too early. libcurl does not say it.
      var failure: NetworkError?
    }
    let reading = NetworkLock(Reading())

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
      reading.withLock { $0.hasStarted = true }
      // libcurl repeats a request whose body is empty without asking for a new stream.
      if hasEnded { return -1 }
      let count = left == 0 ? 0 : readBase(buffer, maxLength: min(maxLength, left))
      if count == 0 { hasEnded = true }
      if length != nil, count > 0 { left -= count }
      return count
    }

    private func readBase(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      let count = hasFailed ? -1 : base?.read(buffer, maxLength: maxLength) ?? -1
      let endsTooEarly = count < 0 || (count == 0 && (length != nil || hasFailed))
      if !endsTooEarly { return count }
      let error = errorOfBase.map { NetworkError.generalError($0) }
      reading.withLock { $0.failure = error ?? .urlError(URLError(.requestBodyStreamExhausted)) }
      return -1
    }

    /// Foundation traps if a stream has no error, and a subclass of the app may have none.
    private var errorOfBase: (any Swift.Error)? {
      guard let base, type(of: base) == InputStream.self, base.streamStatus == .error else { return nil }
      return base.streamError
    }
  }
#endif
