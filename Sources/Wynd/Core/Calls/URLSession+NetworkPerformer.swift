public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension URLSession: NetworkSendingPerformer {
  /// Nothing but the session itself.
  public var defaults: NetworkDefaults {
    var defaults = NetworkDefaults()
    defaults.session = self
    return defaults
  }

  /// Carries out a call with the configuration and the delegate of this session.
  public func perform(_ plan: NetworkCallPlan) async -> Swift.Result<NetworkResponse<Data>, NetworkError> {
    await RetryLoop(plan, on: plan.transport(on: self)).run()
  }

  /// The same with a completion handler. When this returns, the app may finish the session.
  public func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    RetryLoop(plan, on: plan.transport(on: self)).run(on: delegateQueue, completion: completionHandler)
  }
}

/// Sends requests on a session. The `timeoutInterval` of a request, such as the `timeout:` of an endpoint, is left to
/// URLSession, after it was made usable: here on Apple's platforms, in LinuxRequest.swift on Linux. It is the time without
/// any data. The limits of an attempt and of a call (``RetryPolicy``) are timers of the loop.
nonisolated struct NetworkSessionTransport: NetworkTransport {
  let session: URLSession
  /// Captured at the start of the call, because a session releases its delegate when it is invalidated. A retry without
  /// the delegate would skip the certificate pinning of the app.
  ///
  /// A session that was invalidated before the call looks like one that never had a delegate. So a call that runs on a
  /// private session from its start has no delegate then.
  let callersDelegate: (any URLSessionDelegate)?

  init(session: URLSession) {
    self.session = session
    callersDelegate = session.delegate
  }

  /// Why the request cannot be sent; nil if it can.
  func invalidReason(of request: URLRequest) -> String? {
    if let url = request.url, url.scheme == nil {
      let hasHost = url.host?.isEmpty == false
      return hasHost
        ? "the URL has a host, but no scheme" : "the URL has no scheme, and there is no client with a base URL"
    }
    return NetworkRequestValidation.invalidReason(ofFraming: request)
      ?? NetworkRequestValidation.invalidReason(of: request)
      ?? NetworkRequestValidation.invalidReason(of: session.configuration)
  }

  func send(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
    if let reason = invalidReason(of: outgoing.request) { return completion.end(.invalid(reason)) }
    var outgoing = outgoing
    outgoing.setLengthOfStream()
    setContentType(of: &outgoing)
    #if canImport(FoundationNetworking)
      LinuxAttempt(outgoing, for: session, callersDelegate, completion).start()
    #else
      let timeout = usableTimeout(outgoing.request.timeoutInterval)
      // URLSession may tell a time-out that was set from the default.
      if timeout != outgoing.request.timeoutInterval { outgoing.request.timeoutInterval = timeout }
      startOnApple(outgoing, completion)
    #endif
  }

  /// Names the type of the body of a POST or an upload, if the request does not: URLSession declares the body of a POST
  /// without a type to be form fields, on Linux even if the session names another type.
  private func setContentType(of outgoing: inout NetworkOutgoing) {
    let isUpload = outgoing.bodies?.isUpload == true
    guard isUpload || (outgoing.hasBody && outgoing.request.networkMethod == "POST") else { return }
    if outgoing.request.value(forHTTPHeaderField: "Content-Type") != nil { return }
    let typeOfSession = NetworkHeaders(session.configuration.httpAdditionalHeaders)["Content-Type"]
    guard let type = typeOfSession ?? (isUpload ? "application/octet-stream" : nil) else { return }
    outgoing.request.setValue(type, forHTTPHeaderField: "Content-Type")
  }

  #if !canImport(FoundationNetworking)
    /// Zero, negative and NaN mean the session's timeout. Infinite and huge values mean none. What URLSession does with
    /// such a value is not documented.
    private func usableTimeout(_ seconds: TimeInterval) -> TimeInterval {
      min(seconds > 0 ? seconds : session.configuration.timeoutIntervalForRequest, 1e8)
    }
  #endif
}
