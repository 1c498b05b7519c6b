public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// How a download is stored.
nonisolated public struct DownloadOptions: Sendable {
  /// Replaces a file that exists, in one step, when the new one is whole (of a link, the link and not its target).
  /// Otherwise the download fails with ``TransferError/destinationExists(_:)``, before anything is sent.
  public var overwrites: Bool
  /// Keeps what has come when the download fails, is cancelled, or the process ends, and resumes from there when the same
  /// URL is downloaded to the same place again. A URL whose query differs, such as one with a new signature, is another
  /// file.
  public var resumes: Bool
  /// Receives how much has come, on an internal queue.
  public var onProgress: (@Sendable (TransferProgress) -> Void)?
  /// Checks the whole file, at the URL that is passed, before it is put in its place. An error that it throws becomes
  /// ``TransferError/invalidFile(_:)``; a file that was resumed is downloaded once more from its beginning before that.
  /// A checksum takes three lines with CryptoKit, or with swift-crypto on Linux:
  ///
  ///     options.validate = { file in
  ///       let digest = SHA256.hash(data: try Data(contentsOf: file, options: .alwaysMapped))
  ///       if !digest.elementsEqual(expected) { throw WrongChecksum() }
  ///     }
  public var validate: (@Sendable (URL) throws -> Void)?

  /// Makes options; every field has a default.
  public init(
    overwrites: Bool = false, resumes: Bool = false, onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
    validate: (@Sendable (URL) throws -> Void)? = nil
  ) {
    self.overwrites = overwrites
    self.resumes = resumes
    self.onProgress = onProgress
    self.validate = validate
  }
}

/// A file that has been downloaded.
nonisolated public struct NetworkDownload: Sendable {
  /// Where it is: the destination.
  public let file: URL
  /// The head of the last response: 206 if the last part was requested alone, 416 if nothing was missing any more.
  public let response: HTTPURLResponse
  /// Every attempt in order; the last one is the one that succeeded.
  public let attempts: [RetryFailure.Attempt]

  /// Whether ``DownloadOptions/resumes`` has kept a part of a file for this destination.
  public static func hasPartialFile(for destination: URL) -> Bool {
    FileManager.default.fileExists(atPath: PartialFile.url(for: destination).path)
  }

  /// Removes what ``DownloadOptions/resumes`` has kept for this destination, unless a download is writing to it.
  public static func removePartialFile(for destination: URL) { PartialFile.remove(for: destination) }
}

nonisolated extension NetworkPerformer {
  /// Downloads to a file, in bounded memory. When the connection is lost, the next attempt requests the rest (`Range` with
  /// `If-Range`, RFC 9110 §§13–14), checks that it gets exactly that, and appends it. If the file has changed meanwhile, or
  /// the server does not support ranges, it starts over.
  ///
  /// ```swift
  /// let file = folder.appending(path: "film.mp4")
  /// try await session.performNetworkDownload(URLRequest(url: url), to: file)
  /// ```
  ///
  /// The file appears when it is whole, by a rename within its folder. Until then it lies beside its destination, as a
  /// hidden file that is removed if the download fails, unless ``DownloadOptions/resumes`` says to keep it.
  ///
  /// Each request is an attempt of the policy, so with ``RetryPolicy/never`` a response that is not the whole file is an
  /// error: a part from a server that sends parts of a size of its choice, or on Apple's platforms a chunked body whose end
  /// has to be confirmed. An attempt that transfers 16 KB or more resets the retry count, the backoff and
  /// ``RetryPolicy/maxRetryTime``: the download fails when it stalls, not because it is long.
  ///
  /// - Parameters:
  ///   - urlRequest: A method other than GET is repeated only where that is safe, and from the beginning.
  ///   - destination: The URL of a file, in a folder that exists.
  ///   - maxRetries: Retries in a row that transfer nothing. `nil` is the policy's number.
  ///   - options: Whether to overwrite and to resume, a check of the file, a closure for the progress.
  ///   - policy: The retry rule.
  /// - Returns: The file, the head of the last response, and the history.
  /// - Throws: ``NetworkError``; what concerns the file is a ``TransferError`` inside `.transferFailed`.
  @discardableResult
  public func performNetworkDownload(
    _ urlRequest: URLRequest, to destination: URL, maxRetries: Int? = nil, options: DownloadOptions = DownloadOptions(),
    policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkDownload {
    let download = Download(to: destination, options)
    return try download.end(await networkCaller.run(download.call(urlRequest, policy, maxRetries))).get()
  }

  /// As ``performNetworkDownload(_:to:maxRetries:options:policy:)``, with a completion handler that is called on the
  /// session's `delegateQueue`.
  @discardableResult
  public func performNetworkDownload(
    _ urlRequest: URLRequest, to destination: URL, maxRetries: Int? = nil, options: DownloadOptions = DownloadOptions(),
    policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkDownload, NetworkError>) -> Void
  ) -> NetworkTask {
    let download = Download(to: destination, options)
    return networkCaller.start(download.call(urlRequest, policy, maxRetries)) { completionHandler(download.end($0)) }
  }
}
