#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  nonisolated extension URLRequest {
    /// Over HTTP/2, which needs TLS, libcurl repeats a request that the server refused, but with an empty body if that
    /// was in memory. A stream can be made unreadable instead.
    private var sendsBodyAsStream: Bool { httpBody?.isEmpty == false && url?.scheme?.lowercased() == "https" }

    /// URLSession declares the body of a POST without a type to be form fields, even if the session names another type.
    mutating func setContentType(from additionalFields: [AnyHashable: Any]?) {
      let hasBody = httpBody?.isEmpty == false || httpBodyStream != nil
      guard httpMethod == "POST", hasBody, value(forHTTPHeaderField: "Content-Type") == nil else { return }
      let type = NetworkAdditionalField.value(of: "Content-Type", in: additionalFields)
      if let type { setValue(type, forHTTPHeaderField: "Content-Type") }
    }

    /// Whether libcurl could send the whole request again on its own, because there is no body, or one that may turn out
    /// to be empty. Without TLS, a new connection is cheap, so not even the header fields are sent again.
    var needsUnusedConnection: Bool {
      guard url?.scheme?.lowercased() == "https" else { return true }
      return (httpBodyStream as? LinuxBodyStream)?.length == nil
    }

    /// The time-out in seconds, in a range that URLSession can convert. 60 is the default of a request, so it means the
    /// value of the session.
    func usedTimeout(in configuration: URLSessionConfiguration) -> TimeInterval {
      let seconds = timeoutInterval == 60 ? configuration.timeoutIntervalForRequest : timeoutInterval
      return seconds > 0 ? min(max(seconds, 0.001), 1e8) : 60
    }

    /// URLSession drops the fraction, so 0.4 s would fail at once. It uses the time-out of a request only if that was
    /// set as a property. A value that was passed to the request's initializer has to be set again.
    mutating func setTimeout(_ timeout: TimeInterval, in configuration: URLSessionConfiguration) {
      let seconds = timeout.rounded(.up)
      let isUsedAnyway = timeoutInterval == seconds && configuration.timeoutIntervalForRequest == seconds
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

    /// The body that URLSession would not send correctly; nil if there is none. For a file, URLSession's own upload
    /// crashes if the connection is lost meanwhile.
    private func streamedBody(of transfer: NetworkBodies?) -> StreamedBody? {
      if let file = transfer?.file { return .file(file) }
      if let makeStream = transfer?.stream { return .streams(makeStream) }
      if let httpBodyStream { return .stream(httpBodyStream) }
      if sendsBodyAsStream, let httpBody { return .data(httpBody) }
      return nil
    }

    /// Replaces the body by a stream if URLSession would not send it correctly.
    mutating func streamBody(of transfer: NetworkBodies?) throws {
      guard let body = streamedBody(of: transfer) else { return }
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
      if length == 0 {
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
    /// URLSession would send a secure cookie without TLS. `secretFields` are the fields that a client knows to be secret.
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
      // One that was read before would be sent empty.
      if let base, [.atEnd, .closed, .error].contains(base.streamStatus) { self.base = nil }
      base?.open()
    }
    override func close() { base?.close() }
    override var streamStatus: Stream.Status { base?.streamStatus ?? .notOpen }
    private var hasFailed: Bool { base.map { $0.streamStatus == .error } ?? true }
    // Not that of `base`: URLSession would take a stream that has no bytes for a moment for one at its end.
    override var hasBytesAvailable: Bool { left > 0 }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      if left == 0 { return 0 }
      guard let base, !hasFailed else { return -1 }
      let count = base.read(buffer, maxLength: min(maxLength, left))
      let endsTooEarly = count == 0 && (length != nil || hasFailed)
      if count < 0 || endsTooEarly { return -1 }
      if length != nil { left -= count }
      return count
    }
  }
#endif
