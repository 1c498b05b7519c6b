import Wynd

extension RetryPolicy {
  /// Retries without a wait, whatever other tests do on the same port.
  static func quick(
    maxRetries: Int? = nil, shouldRetry: (@Sendable (NetworkError) -> Bool)? = nil,
    onEvent: (@Sendable (NetworkEvent) -> Void)? = nil
  ) -> RetryPolicy {
    RetryPolicy(
      maxRetries: maxRetries, backoff: .immediate, budget: .unlimited, shouldRetry: shouldRetry, onEvent: onEvent)
  }
}
