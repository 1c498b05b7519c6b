import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests on a session.
nonisolated struct NetworkSessionTransport: NetworkTransport {
  let session: URLSession
  /// Captured when the call begins, because a session releases its delegate when it is invalidated. Without it, a retry
  /// would be made without the certificate pinning of the app.
  ///
  /// On Apple's platforms, a session that was invalidated before the call looks like one that never had a delegate. Only a
  /// task that is created on it would tell, with an exception. So a call that runs on a session of ours from its start has
  /// no delegate then.
  private let callersDelegate: (any URLSessionDelegate)?
  /// Whether the session is known to have been invalidated before a call that sends its first request later.
  private var wasInvalidated = false

  init(session: URLSession) {
    self.session = session
    callersDelegate = session.delegate
  }

  /// For a call that may send its first request after it has returned to the app.
  init(forLaterRequestsOn session: URLSession) {
    self.init(session: session)
    #if canImport(FoundationNetworking)
      wasInvalidated = session.isInvalidated
    #endif
  }

  func validationError(for request: URLRequest) -> String? {
    NetworkRequestValidation.invalidReason(ofFraming: request) ?? NetworkRequestValidation.invalidReason(of: request)
      ?? NetworkRequestValidation.invalidReason(of: session.configuration)
  }

  func start(_ outgoing: NetworkOutgoing, _ reply: NetworkReply) {
    if wasInvalidated { return reply.end(NetworkOutcome(error: URLError(.cancelled))) }
    var outgoing = outgoing
    outgoing.request.timeoutInterval = usableTimeout(outgoing.request.timeoutInterval)
    if outgoing.bodies?.isUpload == true { setDefaultContentType(of: &outgoing.request) }
    outgoing.placeholder?.onSessionEnd { reply.cancel(NetworkOutcome(error: URLError(.cancelled))) }
    #if canImport(FoundationNetworking)
      LinuxAttempt(outgoing, for: session, callersDelegate, reply).start()
    #else
      AppleAttempt(outgoing: outgoing, session: session, callersDelegate: callersDelegate, reply: reply).start()
    #endif
  }

  func placeholder() throws(URLError) -> NetworkPlaceholder? {
    guard let placeholder = NetworkPlaceholder(on: session) else { throw URLError(.cancelled) }
    return placeholder
  }

  /// Names the type of an upload, if neither the request nor the session does: URLSession declares the body of a POST
  /// without a type to be form fields.
  private func setDefaultContentType(of request: inout URLRequest) {
    let sessionFields = session.configuration.httpAdditionalHeaders
    let sessionHasType = NetworkAdditionalField.value(of: "Content-Type", in: sessionFields) != nil
    if sessionHasType || request.value(forHTTPHeaderField: "Content-Type") != nil { return }
    request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
  }

  /// Zero, negative and NaN mean the session's timeout, infinite and huge values mean none. On Linux, URLSession would
  /// fail at once with such a value, or crash; on Apple's platforms, what it does is not documented.
  private func usableTimeout(_ seconds: TimeInterval) -> TimeInterval {
    let seconds = seconds > 0 ? seconds : session.configuration.timeoutIntervalForRequest
    return min(seconds, 1e8)
  }
}

nonisolated extension NetworkSessionTransport: NetworkPerformer {
  var delegateQueue: OperationQueue { session.delegateQueue }

  /// Carries out requests of a call that has begun.
  func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
    var plan = plan
    plan.isInsideCall = false
    return await RetryLoop(plan, on: self).run()
  }
}
