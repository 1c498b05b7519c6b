import Foundation

/// Carries out one task, on a thread of its own.
final class Loader: @unchecked Sendable {
  let task: URLSessionTask
  let session: URLSession
  private let began = DispatchTime.now()
  private let metrics = URLSessionTaskMetrics()
  private let startDate = Date()
  /// When the header fields of the latest request began to be sent; nil if they were not.
  var requestStartDate: Date?
  private var timeout: TimeInterval = 60
  private var received = Data()
  /// When a certificate was asked about; the second date is that of its acceptance.
  var secureConnection: (start: Date?, end: Date?)
  /// What the cache would keep.
  private var body = Data()
  /// The calls that have not returned, if they overlap.
  private let overlapping = DispatchGroup()
  private var answers: Set<ModelAnswer> { session.values.answers }

  init(_ task: URLSessionTask, _ session: URLSession) { (self.task, self.session) = (task, session) }

  func start() {
    let thread = Thread { [self] in
      var failure: (any Error)?
      do { try run() } catch { failure = error }
      // A suspended app runs no code.
      session.waitForApp()
      overlapping.wait()
      finish(failure)
    }
    thread.stackSize = 1 << 19
    thread.start()
  }

  /// The end: metrics, and then the completion handler or `didCompleteWithError`.
  func finish(_ error: (any Error)?) {
    // A cancellation shuts the connection down, which must not look like a lost one.
    let isCancelled = task.locked { task.isCancelled }
    let error = isCancelled && error != nil ? URLError(.cancelled) : error
    if let loss = session.values.errorOfLoss, (error as? URLError)?.code == .networkConnectionLost {
      return finish(detailed: loss)
    }
    finish(detailed: (error as? URLError)?.withDetails(of: task.currentRequest?.url) ?? error)
  }

  private func finish(detailed error: (any Error)?) {
    metrics.taskInterval = DateInterval(start: startDate, end: Date())
    if answers.contains(.emptyMetrics) { metrics.transactionMetrics = [] }
    let completion = task.complete(error)
    let (response, data) = (task.response, received)
    session.delegateQueue.addOperation { [self] in
      // [hdr] didFinishCollecting: before didCompleteWithError. [seen] kean/Pulse#227: even for tasks with a handler.
      if !answers.contains(.noMetrics) {
        call { $0.urlSession(session, task: task, didFinishCollecting: metrics) }
      }
      // [hdr] Tasks with a completion handler: no delegate method is called for the response, the data and the end.
      if let completion {
        // [doc] urlsession/datatask(with:completionhandler:): data and response are nil if the request failed.
        completion(error == nil ? data : nil, error == nil ? response : nil, error)
      } else {
        call { $0.urlSession(session, task: task, didCompleteWithError: error) }
      }
      task.release()
    }
  }

  // MARK: Delegates

  // [hdr] delegate of a task: asked first; methods that it does not implement go to the session's delegate.
  @discardableResult func call(_ method: (any URLSessionTaskDelegate) -> Void) -> Bool {
    let delegates = [task.delegate, session.delegate as? any URLSessionTaskDelegate]
    return delegates.contains { delegate in
      delegate.map { delegate in OptionalMethod.isImplemented(by: delegate) { method(delegate) } } ?? false
    }
  }
  private func callData(_ method: (any URLSessionDataDelegate, URLSessionDataTask) -> Void) -> Bool {
    guard let dataTask = task as? URLSessionDataTask else { return false }
    return call { delegate in
      if let delegate = delegate as? any URLSessionDataDelegate {
        method(delegate, dataTask)
      } else {
        OptionalMethod.isMissing(in: delegate)
      }
    }
  }

  /// Calls on the delegate queue. Unless calls overlap, it waits until the method has returned.
  private func tell(_ method: @escaping @Sendable () -> Void) throws {
    if answers.contains(.callsOverlap), session.delegateQueue.maxConcurrentOperationCount != 1 {
      try task.waitWhile()
      overlapping.enter()
      session.delegateQueue.addOperation { [overlapping] in
        method()
        overlapping.leave()
      }
      return task.noteActivity()
    }
    _ = try ask(false) { (reply: @escaping @Sendable (Bool) -> Void) in
      method()
      reply(true)
      return true
    }
  }

  private final class Reply<Value>: @unchecked Sendable {
    var value: Value?
    var hasReturned = false
  }

  /// The same for a method with a completion handler. `fallback` is used if no delegate implements it.
  ///
  /// [assumed] `timeoutIntervalForRequest` runs while a delegate has not called the handler, as nothing is transferred.
  func ask<Value>(
    _ fallback: Value, _ method: @escaping (@escaping @Sendable (Value) -> Void) -> Bool
  ) throws -> Value {
    let reply = Reply<Value>()
    let changes = task.changes
    @Sendable func give(_ value: Value) {
      changes.withLock {
        if reply.value == nil { reply.value = value }
        changes.broadcast()
      }
    }
    session.delegateQueue.addOperation {
      if !method({ give($0) }) { give(fallback) }
      changes.withLock {
        reply.hasReturned = true
        changes.broadcast()
      }
    }
    try task.waitWhile { !reply.hasReturned }
    try task.waitWhile(until: Date() + timeout) { reply.value == nil }
    task.noteActivity()
    return reply.value ?? fallback
  }

  // MARK: The requests of a task

  enum Body {
    case none
    case data(Data)
    case file(URL)
    case stream(InputStream)
  }

  private func run() throws {
    guard var request = task.originalRequest else { throw URLError(.badURL) }
    URLProtocol.ask(about: request, on: session)
    let isTimeoutSet =
      request.timeoutInterval != 60 || answers.contains(.countsTimeoutThatIsSet) && request.isTimeoutSet
    let timeoutOfSession = session.values.timeoutIntervalForRequest
    timeout = isTimeoutSet ? request.timeoutInterval : timeoutOfSession
    if answers.contains(.sessionTimeoutIsLimit) { timeout = min(timeout, timeoutOfSession) }
    var body = try firstBody(request)
    var credential: URLCredential?
    var challenges = 0
    while true {
      task.update { $0.currentRequest = request }
      (requestStartDate, secureConnection) = (nil, (nil, nil))
      let exchange: Exchange
      do { exchange = try Exchange(self, request, &body, credential) } catch {
        note(request, nil, isReused: false)
        throw error
      }
      let response = exchange.head
      note(request, response, isReused: exchange.isReused)
      if let next = Self.redirect(from: request, response, answers), let chosen = try redirected(response, next) {
        exchange.end()
        body = chosen.httpMethod == request.httpMethod ? try newBody(body, chosen) : .none
        request = chosen
      } else if let challenge = Self.challenge(response, challenges),
        let chosen = try delegateCredential(for: challenge)
      {
        exchange.end()
        credential = chosen
        challenges += 1
        body = try newBody(body, request)
      } else {
        return try deliver(exchange, request)
      }
    }
  }

  /// One transaction for each request, also for one that URLSession repeats by itself.
  func note(_ request: URLRequest, _ response: HTTPURLResponse?, isReused: Bool) {
    let transaction = URLSessionTaskTransactionMetrics(
      request, response, isReusedConnection: isReused, requestStartDate)
    (transaction.secureConnectionStartDate, transaction.secureConnectionEndDate) = secureConnection
    metrics.transactionMetrics.append(transaction)
  }

  private func firstBody(_ request: URLRequest) throws -> Body {
    switch task.body {
    case .data(let data): return .data(data)
    case .file(let file): return .file(file)
    case .stream: return .stream(try newStream())
    case .request: return request.httpBody.map(Body.data) ?? request.httpBodyStream.map(Body.stream) ?? .none
    }
  }

  private func newBody(_ body: Body, _ request: URLRequest) throws -> Body {
    switch body {
    case .none, .data: task.originalRequest?.httpBody == nil ? body : request.httpBody.map(Body.data) ?? .none
    case .file: body
    case .stream: .stream(try newStream())
    }
  }

  // [doc] urlsessiontaskdelegate/urlsession(_:task:neednewbodystream:): for the first stream of an upload task, and again
  // “if the task needs to resend a request that has a body stream because of an authentication challenge or other
  // recoverable server error”. Without one the task fails with -1021.
  func newStream() throws -> InputStream {
    let none: InputStream? = nil
    let stream = try ask(none) { reply in
      self.call { $0.urlSession(self.session, task: self.task, needNewBodyStream: { reply($0) }) }
    }
    guard let stream else { throw URLError(.requestBodyStreamExhausted) }
    // [seen] connectrpc/connect-swift#399: an assertion in HTTPRequestBody.cpp ends the process.
    if stream.streamStatus != .notOpen { raise("the stream is open already") }
    return stream
  }

  // MARK: Redirects

  static func redirect(
    from request: URLRequest, _ response: HTTPURLResponse, _ answers: Set<ModelAnswer>
  ) -> URLRequest? {
    let status = response.statusCode
    guard [301, 302, 303, 307, 308].contains(status), let location = response.value(forHTTPHeaderField: "Location"),
      let url = URL(string: location, relativeTo: request.url)?.absoluteURL
    else { return nil }
    var next = request
    next.url = url
    // [seen] Alamofire#798, #1850: Authorization is dropped, whichever host is next; every other field goes along.
    next.setValue(nil, forHTTPHeaderField: "Authorization")
    let method = request.httpMethod ?? "GET"
    // RFC 9110 §15.4: 303 becomes GET, and so does a POST after 301 and 302; 307 and 308 keep method and body.
    let changed = answers.contains(.keepsMethodAfterRedirect) ? ["POST"] : ["POST", "PUT", "PATCH", "DELETE"]
    if status == 303 && method != "HEAD" || status < 303 && changed.contains(method) {
      next.httpMethod = "GET"
      (next.httpBody, next.httpBodyStream) = (nil, nil)
      // [assumed] As RFC 9110 says: no field that describes the body.
      for name in (next.allHTTPHeaderFields ?? [:]).keys where name.lowercased().hasPrefix("content-") {
        next.setValue(nil, forHTTPHeaderField: name)
      }
    }
    return next
  }

  // [hdr] willPerformHTTPRedirection: nil makes the 3xx the response of the task.
  private func redirected(_ response: HTTPURLResponse, _ next: URLRequest) throws -> URLRequest? {
    // [doc] urlerror/httptoomanyredirects. The number is not published. [assumed] 20.
    if metrics.redirectCount >= 20 { throw URLError(.httpTooManyRedirects) }
    let chosen: URLRequest? = try ask(next) { reply in
      self.call {
        $0.urlSession(
          self.session, task: self.task, willPerformHTTPRedirection: response, newRequest: next,
          completionHandler: { reply($0) })
      }
    }
    if chosen != nil { metrics.redirectCount += 1 }
    return chosen
  }

  // MARK: The response

  private func deliver(_ exchange: Exchange, _ request: URLRequest) throws {
    let response = exchange.head
    task.update {
      $0.response = response
      $0.countOfBytesExpectedToReceive = response.expectedContentLength
    }
    if !task.isCollected {
      let disposition = try ask(URLSession.ResponseDisposition.allow) { reply in
        self.callData { delegate, dataTask in
          delegate.urlSession(self.session, dataTask: dataTask, didReceive: response, completionHandler: { reply($0) })
        }
      }
      if disposition == .cancel { throw URLError(.cancelled) }
    }
    let inflater = Inflater(response)
    while let bytes = try exchange.next() {
      let data = try inflater?.decode(bytes) ?? bytes
      if data.isEmpty { continue }
      task.update { $0.countOfBytesReceived += Int64(data.count) }
      if body.count < 1_000_000 { body += data }
      if task.isCollected {
        received += data
      } else {
        try tell { _ = self.callData { $0.urlSession(self.session, dataTask: $1, didReceive: data) } }
      }
    }
    try task.waitWhile()
    exchange.end()
    guard !exchange.isFromCache, let proposal = session.proposal(response, body, for: request) else { return }
    // [doc] …/urlsession(_:datatask:willcacheresponse:completionhandler:): once the whole body has come; nil stores nothing.
    // [assumed] Also for a task with a completion handler.
    let chosen: CachedURLResponse? = try ask(proposal) { reply in
      self.callData { delegate, dataTask in
        delegate.urlSession(
          self.session, dataTask: dataTask, willCacheResponse: proposal, completionHandler: { reply($0) })
      }
    }
    if let chosen { session.store(chosen, for: request) }
  }

  // MARK: Time

  /// Waits until the socket is ready. Time in which the task is suspended does not count.
  func wait(_ connection: Connection, for events: Int32) throws {
    while true {
      try task.waitWhile()
      // [doc] timeoutintervalforrequest: runs anew whenever something has come; timeoutintervalforresource: for the whole task.
      let left = min(
        timeout - task.idleTime, session.values.timeoutIntervalForResource - DispatchTime.now().seconds(since: began))
      if left <= 0 { throw URLError(.timedOut) }
      var entry = pollfd(fd: connection.socket, events: Int16(events), revents: 0)
      let count = poll(&entry, 1, Int32(min(left * 1000 + 1, 1e6)))
      try task.waitWhile()
      let (isDefunct, isOffline) = session.locked { (connection.isDefunct, session.network.isOffline) }
      // [seen] Alamofire#2311: in airplane mode, a request that was sent already is -1009 (ENOTCONN), as if it had not been.
      if isDefunct, isOffline { throw URLError.lost(57, domain: 1, .notConnectedToInternet) }
      if isDefunct { throw URLError.lost(53, domain: 1) }
      if count > 0 { return }
    }
  }

  func fill(_ connection: Connection) throws -> Bool {
    while true {
      try wait(connection, for: POLLIN)
      if let hasMore = try connection.read() {
        task.noteActivity()
        return hasMore
      }
    }
  }

  // [doc] waitsForConnectivity: only before the connection is made; the delegate is told, and the request's time-out does
  // not run; forums 832037 and the property's page: timeoutIntervalForResource does. Otherwise the task fails at once.
  func waitForNetwork() throws {
    let (isOffline, reason) = session.locked { (session.network.isOffline, session.network.reason) }
    guard isOffline else { return }
    guard session.values.waitsForConnectivity else {
      let info: [String: Any] = reason.map { ["NSURLErrorNetworkUnavailableReasonKey": $0.rawValue] } ?? [:]
      throw URLError(.notConnectedToInternet, userInfo: info)
    }
    try tell { self.call { $0.urlSession(self.session, taskIsWaitingForConnectivity: self.task) } }
    try task.waitWhile(until: Date() + session.values.timeoutIntervalForResource) { session.network.isOffline }
  }

  // [doc] …/urlsession(_:task:didsendbodydata:totalbytessent:totalbytesexpectedtosend:). [assumed] It counts what a buffer
  // took, some of which may never be sent.
  func sent(_ count: Int) throws {
    task.update { $0.countOfBytesSent += Int64(count) }
    let total = task.countOfBytesSent
    try tell {
      self.call {
        $0.urlSession(
          self.session, task: self.task, didSendBodyData: Int64(count), totalBytesSent: total,
          totalBytesExpectedToSend: self.task.countOfBytesExpectedToSend)
      }
    }
  }
}

extension URLSession {
  func waitForApp() {
    locked { while network.isAppSuspended { changes.wait() } }
  }
}
