public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Options for a download.
nonisolated public struct DownloadOptions: Sendable {
  /// Whether to replace an existing file, in one step, when the download is complete. A symbolic link is replaced, not
  /// its target. If false and the file exists, the download fails with ``TransferError/destinationExists(_:)`` before
  /// anything is sent.
  public var overwrites: Bool
  /// Whether to keep the partial file when the download fails or is canceled, or the process ends, and to resume it
  /// when the same URL is downloaded to the same destination again. A URL with a different query, such as a new
  /// signature, counts as another file, and so does another method. If the request has a credential, the file is kept
  /// only if its server sends a strong entity tag, because two users may get different files with the same date.
  public var resumes: Bool
  /// Checks the complete file before it is moved to its destination. The closure receives the file's current URL. An
  /// error that it throws becomes ``TransferError/invalidFile(_:)``; a resumed file is first downloaded once more from
  /// the beginning. A checksum with CryptoKit, or with swift-crypto on Linux:
  ///
  ///     options.validate = { file in
  ///       let digest = SHA256.hash(data: try Data(contentsOf: file, options: .alwaysMapped))
  ///       if !digest.elementsEqual(expected) { throw WrongChecksum() }
  ///     }
  public var validate: (@Sendable (URL) throws -> Void)?

  /// Creates options.
  public init(
    overwrites: Bool = false, resumes: Bool = false, validate: (@Sendable (URL) throws -> Void)? = nil
  ) {
    self.overwrites = overwrites
    self.resumes = resumes
    self.validate = validate
  }
}

/// A completed download.
nonisolated public struct NetworkDownload: Sendable, CustomStringConvertible {
  /// The downloaded file, at its destination.
  public let file: URL
  /// The last response: 206 if it contained only the rest of the file, 416 if nothing was missing.
  public let response: HTTPURLResponse
  /// Every attempt, in order. The last one succeeded.
  public let attempts: [NetworkAttempt]
  /// Status, URL and file: no query value and no header.
  public var description: String { NetworkError.oneLine("\(response.redactedForLog), \(file.path)", 1_000) }

  /// Whether there is a partial file for this destination, kept by ``DownloadOptions/resumes``.
  public static func hasPartialFile(for destination: URL) -> Bool {
    FileManager.default.fileExists(atPath: NetworkPartialFile.url(for: destination).path)
  }

  /// Removes the partial file for this destination, unless a download is writing to it.
  public static func removePartialFile(for destination: URL) {
    let options = DownloadOptions(overwrites: true)
    try? NetworkPartialFile(for: destination, from: URLRequest(url: destination), options).close()
  }
}

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
  /// file next to its destination, which is removed if the download fails, unless ``DownloadOptions/resumes`` is true.
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
  ///   - options: How to store the file; see ``DownloadOptions``.
  ///   - policy: The retry policy.
  ///   - onProgress: Receives the progress, on an internal queue.
  /// - Returns: The file, the last response, and every attempt.
  /// - Throws: ``NetworkError``; a failure that concerns the file is a ``TransferError`` inside `.generalError`.
  @discardableResult
  public func performNetworkDownload(
    _ request: some NetworkRequestConvertible, to destination: URL, options: DownloadOptions = DownloadOptions(),
    policy: RetryPolicy = .default, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws(NetworkError) -> NetworkDownload {
    let defaults = defaults
    let download = NetworkDownloadCall(to: destination, options, onProgress)
    let plan = download.added(to: try transferPlan(for: request, policy, defaults))
    return try download.end(await perform(plan.started(on: self, defaults))).get()
  }

  /// Like `performNetworkDownload(_:to:options:policy:onProgress:)`, with a completion handler that is called on the
  /// session's `delegateQueue`.
  @discardableResult
  public func performNetworkDownload(
    _ request: some NetworkRequestConvertible, to destination: URL, options: DownloadOptions = DownloadOptions(),
    policy: RetryPolicy = .default, onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkDownload, NetworkError>) -> Void
  ) -> NetworkTask {
    let download = NetworkDownloadCall(to: destination, options, onProgress)
    return start(completionHandler, end: { download.end($0) }) { defaults throws(NetworkError) in
      download.added(to: try transferPlan(for: request, policy, defaults))
    }
  }

  /// The call of a download or a stream, to which the transfer is added.
  func transferPlan(
    for request: some NetworkRequestConvertible, _ policy: RetryPolicy, _ defaults: NetworkDefaults
  ) throws(NetworkError) -> NetworkCallPlan {
    let plan = try plan(for: request, policy, defaults)
    if plan.transfer == nil { return plan }
    throw .invalidRequest(reason: "a download or a stream sends a body in memory: `.data`, `.json`, `.form`, `.text`")
  }
}
