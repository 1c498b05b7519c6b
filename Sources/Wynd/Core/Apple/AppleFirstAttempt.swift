// Apple: how one attempt runs on Apple's URLSession: the first attempt of a plain call on the caller's session,
// everything else on a private session with the same configuration and delegate. Linux compiles nothing of it.
// Start with this file.

#if !canImport(FoundationNetworking)
  import Foundation

  /// The first attempt of a plain call. It runs on the caller's session, as `dataTask` would: the app is inside the
  /// call, so the session is valid.
  nonisolated struct AppleFirstAttempt: Sendable {
    let outgoing: NetworkOutgoing
    let session: URLSession
    /// The delegate of the session at the start of the call. The session releases it when it is invalidated.
    let callersDelegate: (any URLSessionDelegate)?
    let completion: NetworkAttemptCompletion

    func start() {
      // A canceled call must not create a task.
      if completion.hasEnded { return }
      let task = makeTask()
      completion.onCancel { task.cancel() }
      task.resume()
    }

    private func makeTask() -> URLSessionTask {
      // This delegate ensures that a body stream is not longer than its Content-Length, and that URLSession does not
      // send it again on its own.
      if outgoing.request.httpBodyStream != nil {
        let task = session.dataTask(with: outgoing.request)
        task.delegate = AppleTaskDelegate(outgoing, for: session, callersDelegate, completion)
        return task
      }
      let redirects = AppleRedirectHandler(outgoing, callersDelegate)
      let task = session.dataTask(with: outgoing.request) { [completion] data, response, error in
        completion.end(redirects.outcome(data, response, error))
      }
      redirects.task = task
      task.delegate = redirects
      return task
    }
  }
#endif
