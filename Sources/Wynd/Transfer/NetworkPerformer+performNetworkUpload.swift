#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Options for an upload.
nonisolated public struct UploadOptions: Sendable {
  /// Receives the progress, on an internal queue. It starts at 0 for each attempt.
  public var onProgress: (@Sendable (TransferProgress) -> Void)?

  /// Creates options.
  public init(onProgress: (@Sendable (TransferProgress) -> Void)? = nil) { self.onProgress = onProgress }
}

nonisolated extension NetworkPerformer {
  /// Uploads a body, in bounded memory unless it is `Data`, and retries when that is useful and safe: a POST that the
  /// server may have applied is not repeated without an Idempotency-Key.
  ///
  /// ```swift
  /// var request = URLRequest(url: url)
  /// request.httpMethod = "PUT"
  /// let response = try await session.performNetworkUpload(request, from: .file(film))
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request to send. Its own body is ignored, and GET becomes PUT. Without a `Content-Type`, neither
  ///     its own nor one of the session, the body is declared as `application/octet-stream`.
  ///   - body: The body to send.
  ///   - maxRetries: Replaces ``RetryPolicy/maxRetries`` of the policy.
  ///   - options: A closure that receives the progress.
  ///   - policy: The retry policy.
  /// - Returns: The response with its body, and every attempt.
  /// - Throws: ``NetworkError``; a file that cannot be read is a ``TransferError`` inside `.transferFailed`.
  @discardableResult
  public func performNetworkUpload(
    _ request: URLRequest, from body: UploadBody, maxRetries: Int? = nil, options: UploadOptions = UploadOptions(),
    policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse {
    let upload = NetworkUploadCall(body: body, progress: NetworkProgressReporter(options.onProgress))
    return try upload.end(await perform(upload.plan(request, policy, maxRetries))).get()
  }

  /// Like ``performNetworkUpload(_:from:maxRetries:options:policy:)``, with a completion handler that is called on the
  /// session's `delegateQueue`.
  @discardableResult
  public func performNetworkUpload(
    _ request: URLRequest, from body: UploadBody, maxRetries: Int? = nil, options: UploadOptions = UploadOptions(),
    policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void
  ) -> NetworkTask {
    let upload = NetworkUploadCall(body: body, progress: NetworkProgressReporter(options.onProgress))
    return perform(upload.plan(request, policy, maxRetries)) { completionHandler(upload.end($0)) }
  }
}

/// One upload with all its attempts.
nonisolated private struct NetworkUploadCall: Sendable {
  let body: UploadBody
  let progress: NetworkProgressReporter
  /// The file of a body that is passed in chunks. It is made on the first attempt, and kept for the retries.
  let assembled = NetworkLock<NetworkTemporaryFile?>(nil)

  /// The result of the call, after removing the assembled body.
  func end(_ result: RetryLoop.CallResult) -> RetryLoop.CallResult {
    assembled.withLock { $0 = nil }
    return result
  }

  func plan(_ request: URLRequest, _ policy: RetryPolicy?, _ maxRetries: Int?) -> NetworkCallPlan {
    var request = request
    // The request's own stream could not be sent twice. With a wrong Content-Length, the server would read the rest of
    // the body as the next request.
    request.httpBody = nil
    request.httpBodyStream = nil
    for name in ["Content-Length", "Transfer-Encoding"] { request.setValue(nil, forHTTPHeaderField: name) }
    if request.networkMethod == "GET" { request.httpMethod = "PUT" }
    if let type = body.contentType { request.setValue(type, forHTTPHeaderField: "Content-Type") }
    var plan = NetworkCallPlan(request, policy: policy, maxRetries: maxRetries)
    plan.isTransfer = true
    plan.around = { send in
      { outgoing in await attempt(outgoing, send) }
    }
    return plan
  }

  /// What an attempt has received and sent.
  private struct Transferred: Sendable {
    var data = Data()
    var sent = Int64(0)
  }

  private func attempt(_ outgoing: NetworkOutgoing, _ send: NetworkSend) async -> NetworkOutcome {
    let transferred = NetworkLock(Transferred())
    do {
      if outgoing.request.networkMethod == "HEAD" {
        throw NetworkError.invalidRequest(reason: "HEAD cannot have a body")
      }
      let file = try await assembledFile()
      let length = try await length(of: file)
      var outcome = await send(prepared(outgoing, file, length, transferred))
      outcome.data = transferred.withLock { $0.data }
      let all = length ?? transferred.withLock { $0.sent }
      if case .success = outcome.result(isHead: false, allowEmptyData: true) { progress.report(all, of: all) }
      await progress.reportsAreDelivered()
      return outcome
    } catch { return NetworkOutcome(error: NetworkError(transfer: error)) }
  }

  private func prepared(
    _ outgoing: NetworkOutgoing, _ file: NetworkTemporaryFile?, _ length: Int64?,
    _ transferred: NetworkLock<Transferred>
  ) -> NetworkOutgoing {
    var outgoing = outgoing
    outgoing.request.httpBody = body.data
    // Not the fields that a middleware may have added: with a wrong length, the server would read the rest of the body
    // as the next request.
    let streamLength = body.stream == nil ? nil : length
    outgoing.request.setValue(streamLength.map { String($0) }, forHTTPHeaderField: "Content-Length")
    outgoing.request.setValue(nil, forHTTPHeaderField: "Transfer-Encoding")
    outgoing.bodies = NetworkBodies(
      isUpload: true,
      file: file?.url ?? body.file,
      stream: body.stream,
      // On Linux, a 401 whose challenge is answered has a head and a body too.
      onHead: { _ in transferred.withLock { $0.data = Data() } },
      onData: { data in transferred.withLock { $0.data += data } },
      onSent: { [progress] sent in
        transferred.withLock { $0.sent = sent }
        progress.report(min(sent, length ?? sent), of: length)
      })
    progress.report(0, of: length)
    return outgoing
  }

  /// The file of a body that is passed in chunks. Nil for any other body.
  private func assembledFile() async throws -> NetworkTemporaryFile? {
    guard let write = body.chunks else { return nil }
    if let file = assembled.withLock({ $0 }) { return file }
    let isCanceled = NetworkLock(false)
    let file = try await withTaskCancellationHandler {
      try await networkInBackground {
        try NetworkTemporaryFile { add in
          try write { chunk in
            if isCanceled.withLock({ $0 }) { throw CancellationError() }
            try add(chunk)
          }
        }
      }
    } onCancel: {
      isCanceled.withLock { $0 = true }
    }
    assembled.withLock { $0 = file }
    return file
  }

  /// The length of the body in bytes; nil for a stream whose length is not known.
  private func length(of assembled: NetworkTemporaryFile?) async throws -> Int64? {
    if let file = assembled?.url ?? body.file { return try await networkInBackground { try Self.size(of: file) } }
    if let data = body.data { return Int64(data.count) }
    guard let length = body.length else { return nil }
    if length < 0 { throw NetworkError.invalidRequest(reason: "a body of a negative length") }
    return length
  }

  /// The size in bytes. Throws if the file cannot be read, because URLSession on Linux would crash.
  private static func size(of file: URL) throws -> Int64 {
    guard (try? file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true,
      let size = try? FileHandle(forReadingFrom: file).seekToEnd()
    else { throw TransferError.unusableFile(file, reason: "not a file that can be read") }
    return Int64(size)
  }
}
