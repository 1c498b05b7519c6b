import Foundation

nonisolated extension NetworkError {
  /// The error that the caller receives if a middleware throws this one. `cause` is what `next` has thrown.
  init(thrown error: any Swift.Error, inPlaceOf cause: NetworkError? = nil) {
    if let error = error as? NetworkError {
      self = error
    } else if error is CancellationError, _Concurrency.Task.isCancelled {
      self = .cancelled
    } else if let cause {
      // A cancellation is not a failure to show, whatever a middleware makes of it.
      if case .cancelled = cause { self = cause } else { self = .middlewareError(error, cause) }
    } else {
      self = .generalError(error)
    }
  }

  /// Whether the server, or the one that renews a credential, cannot be reached or is failing.
  var isOutage: Bool { inner?.isOutage ?? shouldRetry }
}
