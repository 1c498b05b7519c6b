// Transfer: downloads to a file, uploads, bodies that are read as they arrive, and server-sent events.
// It needs Core and Body. NetworkDownloadDecision says what a response means for the file, NetworkDownloadCall asks it
// in each attempt, and NetworkPartialFile is the file. NetworkByteStream is between a connection and the loop that reads.

public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension NetworkPerformer {
  /// Downloads to a file, in bounded memory. After a lost connection, the next attempt requests the rest (`Range` with
  /// `If-Range`, RFC 9110 §§13–14), checks that the response contains it, and appends it. If the file on the server has
  /// changed, or the server does not support ranges or sends something else, the download starts over.
  ///
  /// ```swift
  /// let file = folder.appending(path: "film.mp4")
  /// try await session.performNetworkDownload(url, to: file) { progress in print(progress.fraction ?? 0) }
  /// ```
  ///
  /// The file appears at its destination when it is complete, by a rename within the folder. Until then it is a hidden
  /// file next to its destination, which is removed if the download fails, unless `resumes` is true.
  /// It is locked while the download runs, so a second download to the same destination, in this process or another
  /// one, fails with ``TransferError/inUse(_:)``.
  ///
  /// Each request is an attempt of the policy. With ``RetryPolicy/never``, a response that is not the complete file is
  /// an error: a part from a server that chooses the size of its parts, or on Apple's platforms a chunked body whose
  /// end has to be confirmed. An attempt that transfers 16 KB or more resets the retry count, the backoff and
  /// ``RetryPolicy/maxRetryTime``: the download fails when it stalls, not because it is long.
  ///
  /// - Parameters:
  ///   - request: What to send: a `URL`, a `URLRequest`, or an endpoint, whose body has to be in memory. With a method
  ///     other than GET, it is repeated only if that is safe, and from the beginning. The response is not parsed.
  ///   - destination: The URL of a file in an existing folder.
  ///   - overwrites: Whether to replace an existing file, in one step, when the download is complete. A symbolic link
  ///     is replaced, not its target. If false and the file exists, the download fails with
  ///     ``TransferError/destinationExists(_:)`` before anything is sent.
  ///   - resumes: Whether to keep the partial file when the download fails or is canceled, or the process ends, and to
  ///     resume it when the same URL is downloaded to the same destination again. A URL with a different query, such as
  ///     a new signature, counts as another file, and so does another method. If the request has a credential, the file
  ///     is kept only if its server sends a strong entity tag, because two users may get different files with the same
  ///     date.
  ///   - name: Names the file in place of its URL, and resumes it like `resumes`: for signed URLs, which change with each
  ///     call. The rest from the new URL is used only if it has the strong entity tag of the bytes that were kept. So
  ///     nothing is kept if the server sends none.
  ///   - policy: The retry policy.
  ///   - onProgress: Receives the progress, on an internal queue.
  ///   - validate: Checks the complete file before it is moved to its destination. The closure receives the file's
  ///     current URL. An error that it throws becomes ``TransferError/invalidFile(_:)``; a resumed file is first
  ///     downloaded once more from the beginning.
  /// - Returns: The file, at its destination, with the last response (206 if it contained only the rest of the file,
  ///   416 if nothing was missing) and every attempt.
  /// - Throws: ``NetworkError``; a failure that concerns the file is a ``TransferError`` inside `.generalError`.
  @discardableResult
  public func performNetworkDownload(
    _ request: some NetworkRequestConvertible, to destination: URL, overwrites: Bool = false, resumes: Bool = false,
    resumesAs name: String? = nil, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil, validate: (@Sendable (URL) throws -> Void)? = nil
  ) async throws(NetworkError) -> NetworkResponse<URL> {
    let defaults = defaults
    let download = NetworkDownloadCall(
      to: destination, overwrites: overwrites, resumes: resumes, name: name, validate: validate, onProgress)
    let plan = download.added(to: try transferPlan(for: request, policy, defaults))
    return try await download.finish(perform(plan.started(on: self, defaults))).get()
  }

  /// The same with a completion handler, which is called on the session's `delegateQueue`. In an async function, a
  /// trailing closure is taken for `onProgress:` or `validate:`; write `completionHandler:` there.
  ///
  /// - Returns: A handle that cancels the download. It does not have to be kept.
  @discardableResult
  public func performNetworkDownload(
    _ request: some NetworkRequestConvertible, to destination: URL, overwrites: Bool = false, resumes: Bool = false,
    resumesAs name: String? = nil, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil, validate: (@Sendable (URL) throws -> Void)? = nil,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<URL>, NetworkError>) -> Void
  ) -> NetworkTask {
    let download = NetworkDownloadCall(
      to: destination, overwrites: overwrites, resumes: resumes, name: name, validate: validate, onProgress)
    return start(completionHandler, convert: { download.finish($0) }) { defaults throws(NetworkError) in
      download.added(to: try transferPlan(for: request, policy, defaults))
    }
  }

  /// The call of a download or a stream, to which the transfer is added.
  func transferPlan(
    for request: some NetworkRequestConvertible, _ policy: RetryPolicy, _ defaults: NetworkDefaults
  ) throws(NetworkError) -> NetworkCallPlan {
    let plan = try plan(for: request, policy, defaults)
    // On Linux, changing a request without a URL stops the process.
    if plan.request.url == nil { throw .invalidRequest(reason: "it has no URL") }
    if plan.transfer == nil { return plan }
    throw .invalidRequest(reason: "a download or a stream sends a body in memory: `.data`, `.json`, `.form`, `.text`")
  }
}
