import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// An error may wrap others:
//
//     case                          cause                        thrown
//     inaccessible(failure)         the last error of the call
//     middlewareError(error, own)   own, of the same request     error, of the app or of another request
//     generalError(error)                                        error
nonisolated extension NetworkError {
  /// The error of the same request that this one wraps.
  var cause: Self? {
    switch self {
    case .middlewareError(_, let cause): cause
    case .inaccessible(let failure): failure.lastError
    default: nil
    }
  }

  /// The error of a middleware, a transfer or an endpoint.
  var thrown: (any Swift.Error)? {
    switch self {
    case .generalError(let error), .middlewareError(let error, _): error
    default: nil
    }
  }

  /// The error that this one wraps, perhaps that of another request.
  var inner: Self? { cause ?? thrown as? Self ?? (thrown as? URLError).map { .urlError($0) } }

  /// The error of the request, unwrapped from ``middlewareError(_:_:)``. After a refused renewal it remains wrapped, so
  /// that the rejection has no further consequences.
  var unmapped: Self {
    if case .middlewareError(let error, let cause) = self, !(error is NetworkError) { cause.unmapped } else { self }
  }

  /// All attempts, and why the call gave up.
  var failure: RetryFailure? { if case .inaccessible(let failure) = self { failure } else { cause?.failure } }

  /// The response of the same request. A `NetworkError` that was thrown may belong to another one.
  var received: (response: HTTPURLResponse, data: Data?)? {
    switch self {
    case .noResponseData(let response): return (response, nil)
    case .endpointError(let response, let data): return (response, data)
    case .undecodable(_, let response, let data): return (response, data)
    default: break
    }
    return cause?.received
  }
}
