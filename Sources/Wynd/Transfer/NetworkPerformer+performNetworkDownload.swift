public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// How a download is stored.
nonisolated public struct DownloadOptions: Sendable {
  /// What becomes of a file that is there already.
  public enum IfExists: Sendable {
    /// It stays, and the download fails with ``TransferError/destinationExists(_:)``, before anything is sent.
    case refuse
    /// The new file takes its place, in one step, when it is whole. Of a link, not what it points to.
    case replace
    /// It stays, and the new one is called `name 2.txt`, `name 3.txt`…
    case number
  }

  /// What becomes of a file that is there already.
  public var ifExists: IfExists
  /// Keeps what has come when the download fails, is cancelled, or the process ends, and goes on from there in a later
  /// call with the same token and the same folder.
  public var resumeToken: ResumeToken?
  /// What the file must be: 64 hexadecimal digits.
  public var sha256: String?
  /// Is told how far it is, on an internal thread: it must return quickly.
  public var onProgress: (@Sendable (TransferProgress) -> Void)?

  /// Makes options; every field has a default.
  public init(
    ifExists: IfExists = .refuse, resumeToken: ResumeToken? = nil, sha256: String? = nil,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil
  ) {
    self.ifExists = ifExists
    self.resumeToken = resumeToken
    self.sha256 = sha256
    self.onProgress = onProgress
  }
}

/// A file that has been downloaded.
nonisolated public struct NetworkDownload: Sendable {
  /// Where it is: the destination, or the name that was free.
  public let file: URL
  /// The head of the last answer: 206 if the last part was fetched alone, 416 if nothing was missing any more.
  public let response: HTTPURLResponse
  /// Every attempt in order; the last one is the one that succeeded.
  public let attempts: [RetryFailure.Attempt]
}

nonisolated extension NetworkPerformer {
  /// Downloads to a file, in bounded memory. When the line drops, the next attempt asks for the rest (`Range` with
  /// `If-Range`, RFC 9110 §§13–14), checks that it is given just that, and appends; if the file has changed meanwhile, or
  /// the server knows no ranges, it starts over.
  ///
  /// ```swift
  /// let file = folder.appending(path: "film.mp4")
  /// try await session.performNetworkDownload(URLRequest(url: url), to: file)
  /// ```
  ///
  /// The file appears when it is whole, by a move within its folder. Until then it lies beside it as `.wynd-….part`, and
  /// is removed if the download fails, unless ``DownloadOptions/resumeToken`` says that it be kept.
  ///
  /// An attempt that brought 16 KB or more starts the count of retries, the backoff and
  /// ``RetryPolicy/maxRetryTime`` anew: the download ends when it is stuck, not when it is long.
  ///
  /// - Parameters:
  ///   - urlRequest: What to get. A method other than GET is repeated only where that is safe, and from the beginning.
  ///   - destination: The URL of a file, in a folder that exists.
  ///   - maxRetries: Retries in a row that bring nothing. `nil` is the policy's number.
  ///   - options: What becomes of an existing file, of a partial one, and what the file must be.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  /// - Returns: The file, the head of the last answer, and the history.
  /// - Throws: ``NetworkError``; what concerns the file is a ``TransferError`` inside `.transferFailed`.
  @discardableResult
  public func performNetworkDownload(
    _ urlRequest: URLRequest, to destination: URL, maxRetries: Int? = nil, options: DownloadOptions = DownloadOptions(),
    policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkDownload {
    let download = Download(to: destination, options, nil)
    let call = NetworkCallPlan(
      request: urlRequest, policy: policy, maxRetries: maxRetries,
      transfer: { DownloadTransport(download: download, base: $0) })
    return try download.close(await networkCaller.run(call)).get()
  }

  /// The same with a completion handler, and a `Progress`.
  ///
  /// ```swift
  /// let transfer = session.performNetworkDownload(request, to: file) { result in show(result) }
  /// progressView.observedProgress = transfer.progress
  /// ```
  ///
  /// - Parameters:
  ///   - urlRequest: What to get.
  ///   - destination: The URL of a file, in a folder that exists.
  ///   - maxRetries: Retries in a row that bring nothing. `nil` is the policy's number.
  ///   - options: What becomes of an existing file, of a partial one, and what the file must be.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  ///   - completionHandler: Gets the file, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle with the progress; it need not be kept.
  @discardableResult
  public func performNetworkDownload(
    _ urlRequest: URLRequest, to destination: URL, maxRetries: Int? = nil, options: DownloadOptions = DownloadOptions(),
    policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkDownload, NetworkError>) -> Void
  ) -> NetworkTransfer {
    let progress = Progress(totalUnitCount: -1)
    let download = Download(to: destination, options, progress)
    let call = NetworkCallPlan(
      request: urlRequest, policy: policy, maxRetries: maxRetries,
      transfer: { DownloadTransport(download: download, base: $0) })
    return networkCaller.transfer(call, progress) { completionHandler(download.close($0)) }
  }
}

nonisolated extension NetworkCaller {
  /// Starts a transfer whose progress can end it.
  func transfer(
    _ call: NetworkCallPlan, _ progress: Progress, completion: @escaping @Sendable (RetryLoop.CallResult) -> Void
  ) -> NetworkTransfer {
    let task = start(call, completion: completion)
    progress.cancellationHandler = { task.cancel() }
    return NetworkTransfer(progress: progress, task: task)
  }
}
