#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  nonisolated extension URLRequest {
    /// The body as it is sent; nil if there is none.
    var linuxBody: LinuxBodyStream? { httpBodyStream as? LinuxBodyStream }

    /// Whether libcurl could send the request twice if a kept-alive connection is dead. Without a body, nothing can be
    /// made unreadable. Without TLS, a new connection is cheap, so not even header fields are sent twice.
    var needsNewConnection: Bool { linuxBody?.length == 0 || url?.scheme?.lowercased() == "http" }

    /// URLSession declares the body of a POST without a type to be form fields, even if the session names another type,
    /// and even if the body is empty. A blank field is not sent.
    mutating func setContentType(from additionalFields: [AnyHashable: Any]?) {
      guard httpMethod == "POST", let body = linuxBody, value(forHTTPHeaderField: "Content-Type") == nil else { return }
      let type = NetworkAdditionalField.value(of: "Content-Type", in: additionalFields)
      let typeOfNoBody = body.length == 0 ? " " : nil
      if let type = type ?? typeOfNoBody { setValue(type, forHTTPHeaderField: "Content-Type") }
    }

    /// Sets the time-out in whole seconds, rounded up: URLSession drops a fraction, so 0.4 s would fail at once. 60 is
    /// the default of a request, so it means the value of the session.
    mutating func setTimeout(from configuration: URLSessionConfiguration) {
      let sessionTimeout = configuration.timeoutIntervalForRequest
      let wanted = timeoutInterval == 60 ? sessionTimeout : timeoutInterval
      let seconds = wanted > 0 ? min(wanted.rounded(.up), 1e8) : 60
      // URLSession uses the time-out of a request only if it was set as a property, and not by the initializer.
      let isUsedAnyway = timeoutInterval == seconds && sessionTimeout == seconds
      if !isUsedAnyway { timeoutInterval = seconds }
    }

    /// URLSession supports lower-case schemes only.
    mutating func setLowercaseScheme() {
      guard let url, let scheme = url.scheme, scheme != scheme.lowercased() else { return }
      self.url = URL(string: scheme.lowercased() + url.absoluteString.dropFirst(scheme.count))
    }

    /// A body that is sent as a stream.
    private enum StreamedBody {
      case file(URL)
      /// Makes a stream each time the body is sent.
      case streams(() throws -> InputStream)
      /// A stream that can be read once.
      case stream(InputStream)
      case data(Data)
    }

    /// The body; nil if there is none, unless the request is not safe to repeat.
    private func body(of transfer: NetworkBodies?, isRepeatable: Bool) -> StreamedBody? {
      if let file = transfer?.file { return .file(file) }
      if let makeStream = transfer?.stream { return .streams(makeStream) }
      if let httpBodyStream { return .stream(httpBodyStream) }
      if let httpBody, !httpBody.isEmpty { return .data(httpBody) }
      return isRepeatable ? nil : .data(Data())
    }

    /// Replaces the body by a stream. It shows whether it was read, and is unreadable when libcurl wants to send it
    /// again. URLSession's own upload of a file crashes if the connection is lost meanwhile.
    ///
    /// A request that is not safe to repeat has an empty stream in place of no body. Over HTTP/2, the server receives a
    /// complete request only after the stream was read.
    mutating func streamBody(of transfer: NetworkBodies?, isRepeatable: Bool) throws {
      guard let body = body(of: transfer, isRepeatable: isRepeatable) else { return }
      let length: Int?
      var first: InputStream?
      let make: () -> InputStream?
      switch body {
      case .file(let file):
        length = try Self.size(of: file)
        make = { InputStream(url: file) }
      case .streams(let makeStream):
        length = try declaredLength()
        first = try makeStream()
        make = { try? makeStream() }
      case .stream(let stream):
        length = try declaredLength()
        first = stream
        make = { nil }
      case .data(let data):
        length = data.count
        make = { InputStream(data: data) }
      }
      if let length {
        setValue(String(length), forHTTPHeaderField: "Content-Length")
        // Otherwise both fields are sent, and the server may read the body as the next request. A blank field is not
        // sent.
        setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
      }
      if length == 0, isRepeatable {
        httpBody = Data()
      } else {
        httpBodyStream = LinuxBodyStream(length, first, make)
      }
    }

    /// The number of bytes that the request says its body has; nil if it says none.
    private func declaredLength() throws -> Int? {
      guard let field = value(forHTTPHeaderField: "Content-Length") else { return nil }
      guard let length = NetworkDigits.number(field) else { throw CocoaError(.fileReadUnknown) }
      return Int(clamping: length)
    }

    private static func size(of file: URL) throws -> Int {
      let size = try file.resolvingSymlinksInPath().resourceValues(forKeys: [.fileSizeKey]).fileSize
      guard let size, FileManager.default.isReadableFile(atPath: file.path) else {
        throw CocoaError(.fileReadUnknown)
      }
      return size
    }

    /// The next request after a 3xx (RFC 9110 §15.4). After 301 and 302, POST becomes GET; after 303, every method but
    /// HEAD. A request that keeps its method keeps its body. Nil if Location is not an http or https URL, or if
    /// URLSession would send a secure cookie without TLS. `secretFields` are the fields that a client knows to be
    /// secret.
    func following(
      _ response: HTTPURLResponse, in configuration: URLSessionConfiguration, secretFields: Set<String> = []
    ) -> URLRequest? {
      guard let location = response.networkValue(of: "Location"),
        let target = URL.networkReference(location, relativeTo: response.url ?? url),
        target.host?.isEmpty == false,
        let scheme = target.scheme?.lowercased(), ["http", "https"].contains(scheme)
      else { return nil }
      // URLSession sends secure cookies over http, too. A redirect from https may have preceded this one.
      let sendsCookies = configuration.httpShouldSetCookies && httpShouldHandleCookies
      let cookies = sendsCookies && scheme == "http" ? configuration.httpCookieStorage?.cookies(for: target) : nil
      if cookies?.contains(where: \.isSecure) == true { return nil }
      var next = self
      next.url = target
      let isSeeOther = response.statusCode == 303 && httpMethod != "HEAD"
      let isMovedPOST = response.statusCode < 303 && httpMethod == "POST"
      if isSeeOther || isMovedPOST {
        next.httpMethod = "GET"
        next.httpBody = nil
        next.httpBodyStream = nil
        for name in allHTTPHeaderFields?.keys ?? [:].keys
        where name.lowercased().hasPrefix("content-") || name.lowercased() == "transfer-encoding" {
          next.setValue(nil, forHTTPHeaderField: name)
        }
      }
      return NetworkRedirect.request(
        next, after: self, additional: configuration.httpAdditionalHeaders, secretFields: secretFields)
    }
  }

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
