import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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

  /// The response with a status of 400 and up that the request failed with, unwrapped. It never belongs to another
  /// request, such as the renewal of a credential.
  var errorResponse: HTTPURLResponse? {
    if case .endpointError(let response, _) = unmapped { response } else { nil }
  }
}
