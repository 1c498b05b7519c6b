#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  nonisolated extension URLRequest {
    /// What the app has stored in the session's `URLCache`, if the `cachePolicy` of a GET asks for it; nil if the request
    /// has to be sent. As with bare URLSession, neither an error nor a response to an `Authorization` is served. A private
    /// session has no cache, and URLSession stores nothing in one.
    func outcomeOfURLCache(of session: URLSession) -> NetworkOutcome? {
      guard [.returnCacheDataElseLoad, .returnCacheDataDontLoad].contains(cachePolicy), networkMethod == "GET",
        value(forHTTPHeaderField: "Authorization") == nil
      else { return nil }
      let stored = session.configuration.urlCache?.cachedResponse(for: self)
      if let stored, (stored.response as? HTTPURLResponse)?.statusCode ?? 400 < 400 {
        return NetworkOutcome(data: stored.data, response: stored.response)
      }
      return cachePolicy == .returnCacheDataDontLoad ? NetworkOutcome(error: URLError(.resourceUnavailable)) : nil
    }

    /// The request as URLSession has to receive it here. `bodies`: those of a transfer, unless a redirect has removed
    /// them. `isRepeatable`: whether libcurl may send it a second time.
    func prepared(
      _ bodies: NetworkBodies?, isRepeatable: Bool, in configuration: URLSessionConfiguration
    ) throws -> URLRequest {
      var request = self
      request.setTimeout(from: configuration)
      request.setLowercaseScheme()
      try request.streamBody(of: bodies, isRepeatable: isRepeatable)
      request.setTypeOfNoBody()
      return request
    }

    /// The body as it is sent; nil if there is none.
    var linuxBody: LinuxBodyStream? { httpBodyStream as? LinuxBodyStream }

    /// Whether libcurl could send the request, which is prepared, twice if a kept-alive connection is dead. Without a
    /// body, nothing can be made unreadable. Without TLS, a new connection is cheap, so not even header fields are sent
    /// twice.
    var needsNewConnection: Bool {
      linuxBody == nil || linuxBody?.length == 0 || url?.scheme?.lowercased() == "http"
    }

    /// URLSession declares the body of a POST without a type to be form fields, even if the body is empty. A blank field
    /// is not sent.
    private mutating func setTypeOfNoBody() {
      guard httpMethod == "POST", linuxBody?.length == 0, value(forHTTPHeaderField: "Content-Type") == nil else {
        return
      }
      setValue(" ", forHTTPHeaderField: "Content-Type")
    }

    /// Sets the time-out in whole seconds, rounded up: URLSession drops a fraction, so 0.4 s would fail at once. Zero,
    /// negative, NaN and 60, which is the default of a request, mean the value of the session. Huge values mean none.
    private mutating func setTimeout(from configuration: URLSessionConfiguration) {
      let sessionTimeout = configuration.timeoutIntervalForRequest
      let wanted = timeoutInterval > 0 && timeoutInterval != 60 ? timeoutInterval : sessionTimeout
      let seconds = wanted > 0 ? min(wanted.rounded(.up), 1e8) : 60
      // URLSession uses the time-out of a request only if it was set as a property, and not by the initializer.
      let isUsedAnyway = timeoutInterval == seconds && sessionTimeout == seconds
      if !isUsedAnyway { timeoutInterval = seconds }
    }

    /// URLSession supports lower-case schemes only.
    private mutating func setLowercaseScheme() {
      guard let url, let scheme = url.scheme, scheme != scheme.lowercased() else { return }
      self.url = URL(string: scheme.lowercased() + url.absoluteString.dropFirst(scheme.count))
    }

    /// Replaces the body by a stream. It shows whether it was read, and is unreadable when libcurl wants to send it
    /// again. URLSession's own upload of a file crashes if the connection is lost meanwhile.
    ///
    /// A request that is not safe to repeat has an empty stream in place of no body. Over HTTP/2, the server receives a
    /// complete request only after the stream was read. URLSession sends no GET with a stream.
    mutating func streamBody(of transfer: NetworkBodies?, isRepeatable: Bool) throws {
      let declared = value(forHTTPHeaderField: "Content-Length").flatMap(NetworkDigits.number)
      if let file = transfer?.file {
        stream(transfer?.length, nil) { InputStream(url: file) }
      } else if let makeStream = transfer?.stream {
        stream(declared, try makeStream()) { try? makeStream() }
      } else if let httpBodyStream {
        stream(declared, httpBodyStream) { nil }
      } else if let httpBody, !httpBody.isEmpty {
        stream(Int64(httpBody.count), nil) { InputStream(data: httpBody) }
      } else if !isRepeatable, httpMethod != "GET" {
        stream(0, nil) { InputStream(data: Data()) }
      }
      if isRepeatable, linuxBody?.length == 0 { httpBody = Data() }
    }

    /// `first` is read the first time, if there is one.
    private mutating func stream(_ length: Int64?, _ first: InputStream?, _ make: @escaping () -> InputStream?) {
      if let length {
        setValue(String(length), forHTTPHeaderField: "Content-Length")
        // Otherwise both fields are sent, and the server may read the body as the next request. A blank field is not
        // sent.
        setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
      }
      httpBodyStream = LinuxBodyStream(length.map { Int(clamping: $0) }, first, make)
    }
  }
#endif
