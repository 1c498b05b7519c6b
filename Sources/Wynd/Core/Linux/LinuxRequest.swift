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
      let field = additionalFields?.first { ($0.key as? String)?.lowercased() == "content-type" }
      if let type = field?.value as? String { setValue(type, forHTTPHeaderField: "Content-Type") }
    }

    /// Whether libcurl could send the whole request again on its own, because there is no body, or one that may turn out
    /// to be empty. Without TLS, a new connection is cheap, so not even the header fields are sent again.
    var needsUnusedConnection: Bool {
      guard url?.scheme?.lowercased() == "https" else { return true }
      return (httpBodyStream as? LinuxBodyStream)?.length == nil
    }

    /// Replaces the body by a stream if URLSession would not send it correctly. For a file, URLSession's own upload
    /// crashes if the connection is lost meanwhile.
    mutating func streamBody(of transfer: NetworkBodies?) throws {
      let make: () -> InputStream?
      var first: InputStream?
      var length = value(forHTTPHeaderField: "Content-Length").map { Int($0) ?? -1 }
      if let file = transfer?.file {
        guard let size = try file.resolvingSymlinksInPath().resourceValues(forKeys: [.fileSizeKey]).fileSize,
          FileManager.default.isReadableFile(atPath: file.path)
        else { throw CocoaError(.fileReadUnknown) }
        length = size
        make = { InputStream(url: file) }
      } else if let makeStream = transfer?.stream {
        first = try makeStream()
        make = { try? makeStream() }
      } else if let httpBodyStream {
        first = httpBodyStream
        make = { nil }
      } else if sendsBodyAsStream, let httpBody {
        length = httpBody.count
        make = { InputStream(data: httpBody) }
      } else {
        return
      }
      if let length {
        if length < 0 { throw CocoaError(.fileReadUnknown) }
        setValue(String(length), forHTTPHeaderField: "Content-Length")
        // Otherwise both fields are sent, and the server may read the body as the next request. A blank field is not
        // sent.
        setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
      }
      if length == 0 { httpBody = Data() } else { httpBodyStream = LinuxBodyStream(length, first, make) }
    }

    /// The next request after a 3xx (RFC 9110 §15.4). After 301 and 302, POST becomes GET; after 303, every method but
    /// HEAD. A request that keeps its method keeps its body. Nil if Location is not an http or https URL.
    /// `secretFields` are the fields that a client knows to be secret.
    func following(
      _ response: HTTPURLResponse, in configuration: URLSessionConfiguration, secretFields: Set<String> = []
    ) -> URLRequest? {
      guard let location = response.value(forHTTPHeaderField: "Location"), let base = response.url ?? url,
        let target = URL(string: location, relativeTo: base)?.absoluteURL, target.host?.isEmpty == false,
        let scheme = target.scheme?.lowercased(), ["http", "https"].contains(scheme)
      else { return nil }
      // URLSession sends secure cookies over http, too. A redirect from https may have preceded this one.
      let sendsCookies = configuration.httpShouldSetCookies && httpShouldHandleCookies
      let cookies = sendsCookies && scheme == "http" ? configuration.httpCookieStorage?.cookies(for: target) : nil
      if cookies?.contains(where: \.isSecure) == true { return nil }
      var next = self
      next.url = target
      if response.statusCode == 303 && httpMethod != "HEAD" || response.statusCode < 303 && httpMethod == "POST" {
        next.httpMethod = "GET"
        (next.httpBody, next.httpBodyStream) = (nil, nil)
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
    private var first, base: InputStream?
    private var left = 0

    /// `first` is read the first time, if there is one. Otherwise, and for each further time, `make` is called.
    init(_ length: Int?, _ first: InputStream?, _ make: @escaping () -> InputStream?) {
      (self.length, self.first, self.make) = (length, first, make)
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
      guard left > 0, let base, !hasFailed else { return left > 0 ? -1 : 0 }
      let count = base.read(buffer, maxLength: min(maxLength, left))
      if count < 0 || count == 0 && (length != nil || hasFailed) { return -1 }
      if length != nil { left -= count }
      return count
    }
  }
#endif
