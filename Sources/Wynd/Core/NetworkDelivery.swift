/// What has become of a request that failed.
nonisolated enum NetworkDelivery: Sendable {
  /// No server received it.
  case notSent
  /// A server may have received it, and refused it before processing it.
  case refused
  /// A server may have applied it.
  case maybeApplied
}

nonisolated extension NetworkError {
  /// What the error says about its request.
  var delivery: NetworkDelivery {
    switch self {
    // The error of another request, or of another call with attempts of its own.
    case .middlewareError, .inaccessible: return .maybeApplied
    case .mappedError(_, let cause): return cause.delivery
    default: break
    }
    if failedBeforeSending { return .notSent }
    return [413, 421, 425, 429].contains(statusCode) ? .refused : .maybeApplied
  }
}
