import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests on a session.
nonisolated struct NetworkSessionTransport: NetworkTransport {
  let session: URLSession
  /// Captured at the start of the call, because a session releases its delegate when it is invalidated. A retry without
  /// the delegate would skip the certificate pinning of the app.
  ///
  /// A session that was invalidated before the call looks like one that never had a delegate. So a call that runs on a
  /// private session from its start has no delegate then.
  private let callersDelegate: (any URLSessionDelegate)?

  init(session: URLSession) {
    self.session = session
    callersDelegate = session.delegate
  }

  func validationError(for request: URLRequest) -> String? {
    NetworkRequestValidation.invalidReason(ofFraming: request) ?? NetworkRequestValidation.invalidReason(of: request)
      ?? NetworkRequestValidation.invalidReason(of: session.configuration)
  }

  func start(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
    var outgoing = outgoing
    outgoing.request.timeoutInterval = usableTimeout(outgoing.request.timeoutInterval)
    if outgoing.bodies?.isUpload == true { setDefaultContentType(of: &outgoing.request) }
    #if canImport(FoundationNetworking)
      LinuxAttempt(outgoing, for: session, callersDelegate, completion).start()
    #else
      if outgoing.usesPrivateSession {
        AppleLaterAttempt(
          outgoing: outgoing, session: session, callersDelegate: callersDelegate, completion: completion
        ).start()
      } else {
        AppleFirstAttempt(
          outgoing: outgoing, session: session, callersDelegate: callersDelegate, completion: completion
        ).start()
      }
    #endif
  }

  /// Names the type of an upload, if neither the request nor the session does: URLSession declares the body of a POST
  /// without a type to be form fields.
  private func setDefaultContentType(of request: inout URLRequest) {
    let sessionFields = session.configuration.httpAdditionalHeaders
    let sessionHasType = NetworkAdditionalField.value(of: "Content-Type", in: sessionFields) != nil
    if sessionHasType || request.value(forHTTPHeaderField: "Content-Type") != nil { return }
    request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
  }

  /// Zero, negative and NaN mean the session's timeout. Infinite and huge values mean none. On Linux, URLSession would
  /// fail at once with such a value, or crash; on Apple's platforms, what it does is not documented.
  private func usableTimeout(_ seconds: TimeInterval) -> TimeInterval {
    let seconds = seconds > 0 ? seconds : session.configuration.timeoutIntervalForRequest
    return min(seconds, 1e8)
  }
}
