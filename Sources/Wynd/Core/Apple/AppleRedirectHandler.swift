#if !canImport(FoundationNetworking)
  import Foundation

  /// The delegate of a task on the caller's session. It rewrites the requests of redirects, and keeps the metrics. It
  /// passes both to the session's delegate, because URLSession calls only the delegate of the task if that implements
  /// the method.
  nonisolated final class AppleRedirectHandler: NSObject, URLSessionTaskDelegate, Sendable {
    private struct State: Sendable {
      /// The request after the latest redirect.
      var request: URLRequest
      var hasFollowed = false
      // Weak, because the task retains its delegate.
      weak var task: URLSessionTask?
      var metrics: URLSessionTaskMetrics?
    }
    private let state: NetworkLock<State>
    private let secretFields: Set<String>
    private let hasBody: Bool
    private let callersDelegate: (any URLSessionDelegate)?

    private let metricsOfAttempt: NetworkLock<URLSessionTaskMetrics?>?

    init(_ outgoing: NetworkOutgoing, _ callersDelegate: (any URLSessionDelegate)?) {
      state = NetworkLock(State(request: outgoing.request))
      secretFields = outgoing.secretFields
      hasBody = outgoing.hasBody
      metricsOfAttempt = outgoing.metrics
      self.callersDelegate = callersDelegate
    }

    var hasFollowed: Bool { state.withLock { $0.hasFollowed } }

    var task: URLSessionTask? {
      get { state.withLock { $0.task } }
      set { state.withLock { $0.task = newValue } }
    }

    func outcome(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) -> NetworkOutcome {
      var outcome = NetworkOutcome(data: data, response: response, error: error)
      // Without the task, this is not known, and a POST must not be sent twice.
      let mayHaveSent = task.map(mayHaveSent) ?? true
      outcome.note(mayHaveSent: mayHaveSent, hasFollowedRedirect: hasFollowed)
      return outcome
    }

    /// Whether a server may have received the whole request. `countOfBytesSent` does not count the header fields, with
    /// which a request without a body is complete. An error such as `.notConnectedToInternet` can follow them.
    func mayHaveSent(_ task: URLSessionTask) -> Bool {
      if task.countOfBytesSent > 0 { return true }
      guard let metrics = state.withLock({ $0.metrics }) else { return !hasBody }
      return metrics.networkHasSentRequest
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      state.withLock { $0.metrics = metrics }
      metricsOfAttempt?.withLock { $0 = metrics }
      (callersDelegate as? any URLSessionTaskDelegate)?.urlSession?(session, task: task, didFinishCollecting: metrics)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      let previous = state.withLock { $0.request }
      let next = NetworkRedirect.request(
        request, after: previous, additional: session.configuration.httpAdditionalHeaders, secretFields: secretFields)
      let follow: @Sendable (URLRequest?) -> Void = { [state] chosen in
        if let chosen {
          state.withLock { state in
            state.request = chosen
            state.hasFollowed = true
          }
        }
        completionHandler(chosen)
      }
      let asked: Void? = (callersDelegate as? any URLSessionTaskDelegate)?.urlSession?(
        session, task: task, willPerformHTTPRedirection: response, newRequest: next, completionHandler: follow)
      if asked == nil { follow(next) }
    }
  }

  nonisolated extension URLSessionTaskMetrics {
    /// Whether URLSession had a connection, and started to send the header fields of a request on it.
    var networkHasSentRequest: Bool { transactionMetrics.contains { $0.requestStartDate != nil } }
  }
#endif
