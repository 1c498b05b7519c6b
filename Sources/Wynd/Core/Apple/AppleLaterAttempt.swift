#if !canImport(FoundationNetworking)
  import Foundation

  /// A later attempt of a plain call, and every attempt of a client or a transfer. It runs on a private session with
  /// the configuration of the caller's: creating a task on a session that was invalidated meanwhile would raise an
  /// exception.
  nonisolated struct AppleLaterAttempt: Sendable {
    let outgoing: NetworkOutgoing
    /// The caller's session.
    let session: URLSession
    /// The delegate of the caller's session at the start of the call. The session releases it when it is invalidated.
    let callersDelegate: (any URLSessionDelegate)?
    let completion: NetworkAttemptCompletion

    func start() {
      // A canceled call must not create a task.
      if completion.hasEnded { return }
      let task = makeTask()
      task.delegate = AppleTaskDelegate(outgoing, for: session, callersDelegate, completion)
      // URLSession calls this method at once, but only on a session's own delegate.
      (callersDelegate as? any URLSessionTaskDelegate)?.urlSession?(session, didCreateTask: task)
      completion.onCancel { task.cancel() }
      outgoing.bodies?.onTask(task)
      task.resume()
    }

    private func makeTask() -> URLSessionTask {
      let privateSession = ApplePrivateSession.of(session)
      if let file = outgoing.bodies?.file { return privateSession.uploadTask(with: outgoing.request, fromFile: file) }
      if outgoing.bodies?.stream != nil { return privateSession.uploadTask(withStreamedRequest: outgoing.request) }
      return privateSession.dataTask(with: outgoing.request)
    }
  }
#endif
