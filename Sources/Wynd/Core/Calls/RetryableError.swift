/// An error of a middleware or a transfer that says whether a retry may help. Any other error that they throw is not
/// retried, unless it is a `URLError` or a ``NetworkError``, or stands in place of an error of the request that is.
nonisolated public protocol RetryableError: Swift.Error {
  /// Whether a retry may help.
  var shouldRetry: Bool { get }
}
