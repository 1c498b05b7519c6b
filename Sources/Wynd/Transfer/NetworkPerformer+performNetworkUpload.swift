#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// How an upload is made.
nonisolated public struct UploadOptions: Sendable {
  /// Receives how much has been sent, on an internal queue. A repeated request begins at 0.
  public var onProgress: (@Sendable (TransferProgress) -> Void)?

  /// Makes options.
  public init(onProgress: (@Sendable (TransferProgress) -> Void)? = nil) { self.onProgress = onProgress }
}

nonisolated extension NetworkPerformer {
  /// Uploads a body, in bounded memory unless it is `Data`, and retries where that is useful and safe: a POST that the
  /// server may have applied is not repeated without an Idempotency-Key.
  ///
  /// ```swift
  /// var request = URLRequest(url: url)
  /// request.httpMethod = "PUT"
  /// let response = try await session.performNetworkUpload(request, from: .file(film))
  /// ```
  ///
  /// - Parameters:
  ///   - urlRequest: Its own body is not sent. A GET becomes a PUT.
  ///   - body: What to send.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - options: A closure for the progress.
  ///   - policy: Which failures are retried, how often, how soon, for how long.
  /// - Returns: Body, head and history of the response.
  /// - Throws: ``NetworkError``; a file that cannot be read is a ``TransferError`` inside `.transferFailed`.
  @discardableResult
  public func performNetworkUpload(
    _ urlRequest: URLRequest, from body: UploadBody, maxRetries: Int? = nil, options: UploadOptions = UploadOptions(),
    policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse {
    try await networkCaller.run(Upload.call(urlRequest, body, policy, maxRetries, options)).get()
  }

  /// As ``performNetworkUpload(_:from:maxRetries:options:policy:)``, with a completion handler that is called on the
  /// session's `delegateQueue`.
  @discardableResult
  public func performNetworkUpload(
    _ urlRequest: URLRequest, from body: UploadBody, maxRetries: Int? = nil, options: UploadOptions = UploadOptions(),
    policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void
  ) -> NetworkTask {
    networkCaller.start(Upload.call(urlRequest, body, policy, maxRetries, options), completion: completionHandler)
  }
}

/// One upload over all its attempts.
nonisolated struct Upload: NetworkTransport {
  let base: any NetworkTransport
  let body: UploadBody
  let progress: ProgressReporter
  /// A body that was put together is kept for the retries.
  private let assembled = NetworkLock<TemporaryFile?>(nil)

  static func call(
    _ request: URLRequest, _ body: UploadBody, _ policy: RetryPolicy?, _ maxRetries: Int?, _ options: UploadOptions
  ) -> NetworkCallPlan {
    var request = request
    // A stream could not be sent twice, and another length than the body's would make the server read the rest as the next
    // request.
    (request.httpBody, request.httpBodyStream) = (nil, nil)
    for name in ["Content-Length", "Transfer-Encoding"] { request.setValue(nil, forHTTPHeaderField: name) }
    if request.httpMethod ?? "GET" == "GET" { request.httpMethod = "PUT" }
    if case .assembled(let contentType, _) = body.content {
      request.setValue(contentType, forHTTPHeaderField: "Content-Type")
    }
    return NetworkCallPlan(
      request: request, policy: policy, maxRetries: maxRetries,
      transfer: { Upload(base: $0, body: body, progress: ProgressReporter(options.onProgress)) })
  }

  init(base: any NetworkTransport, body: UploadBody, progress: ProgressReporter) {
    self.base = base
    self.body = body
    self.progress = progress
  }

  var isInvalidated: Bool { base.isInvalidated }

  func validationError(for request: URLRequest) -> String? {
    if case .stream(let length?, _) = body.content, length < 0 { return "a body of a negative length" }
    return base.validationError(for: request)
  }

  func prepare(
    _ request: URLRequest, _: NetworkTransferBody?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    let readsFiles =
      switch body.content {
      case .file, .assembled: true
      case .data, .stream: false
      }
    return TransferHandle(isInBackground: readsFiles) { handle in
      do throws(NetworkError) { return try send(request, for: handle, completion) } catch {
        completion(NetworkOutcome(error: error))
        return nil
      }
    }
  }

  private func send(
    _ request: URLRequest, for handle: TransferHandle, _ completion: @escaping Completion
  ) throws(NetworkError) -> any NetworkRequestHandle {
    var request = request
    let receiver: UploadReceiver
    var transfer: NetworkTransferBody
    switch body.content {
    case .data(let data):
      request.httpBody = data
      receiver = UploadReceiver(progress, Int64(data.count))
      transfer = NetworkTransferBody(to: receiver)
    case .file(let url):
      receiver = UploadReceiver(progress, try Self.size(of: url))
      transfer = NetworkTransferBody(file: url, to: receiver)
    case .assembled(_, let assemble):
      let file = try file(assemble, for: handle)
      receiver = UploadReceiver(progress, try Self.size(of: file))
      transfer = NetworkTransferBody(file: file, to: receiver)
    case .stream(let length, let makeStream):
      if let length { request.setValue(String(length), forHTTPHeaderField: "Content-Length") }
      receiver = UploadReceiver(progress, length)
      transfer = NetworkTransferBody(stream: makeStream, to: receiver)
    }
    progress.report(0, of: receiver.length)
    return base.prepare(request, transfer) { [progress] outcome in
      var outcome = outcome
      outcome.data = receiver.data
      if case .success = outcome.result(isHead: false, allowEmptyData: true) { receiver.reportAll() }
      progress.afterReports { [outcome] in completion(outcome) }
    }
  }

  /// URLSession on Linux crashes when a file is gone.
  private static func size(of file: URL) throws(NetworkError) -> Int64 {
    let values = try? URL(fileURLWithPath: file.resolvingSymlinksInPath().path)
      .resourceValues(forKeys: [.isRegularFileKey, .fileSizeKey])
    guard values?.isRegularFile == true, let size = values?.fileSize,
      (try? FileHandle(forReadingFrom: file).close()) != nil
    else { throw .transferFailed(TransferError.unusableFile(file, reason: "not a file that can be read")) }
    return Int64(size)
  }

  private func file(
    _ assemble: (_ isWanted: () -> Bool) throws -> TemporaryFile, for handle: TransferHandle
  ) throws(NetworkError) -> URL {
    if let file = assembled.withLock({ $0 }) { return file.url }
    do {
      let file = try assemble { !handle.isCancelled }
      assembled.withLock { $0 = file }
      return file.url
    } catch {
      throw error as? NetworkError ?? .transferFailed(TransferError.fileSystem(error))
    }
  }
}

/// Keeps the response in memory.
nonisolated final class UploadReceiver: NetworkBodyReceiver {
  let length: Int64?
  private let progress: ProgressReporter
  private let state = NetworkLock((data: Data(), sent: Int64(0)))

  init(_ progress: ProgressReporter, _ length: Int64?) {
    self.progress = progress
    self.length = length
  }

  var data: Data { state.withLock { $0.data } }

  func receive(_ head: HTTPURLResponse) throws(NetworkError) {}

  func receive(_ data: Data) throws(NetworkError) { state.withLock { $0.data += data } }

  func sent(_ bytes: Int64) {
    state.withLock { $0.sent = bytes }
    progress.report(min(bytes, length ?? bytes), of: length)
  }

  func reportAll() {
    let all = length ?? state.withLock { $0.sent }
    progress.report(all, of: all)
  }
}
