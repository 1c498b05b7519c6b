// Apple: how one attempt runs on Apple's URLSession. Linux compiles nothing of it.

#if !canImport(FoundationNetworking)
  import Foundation

  nonisolated extension NetworkSessionTransport {
    /// Starts an attempt: the first one of a plain call on the caller's session, any other one on a private session
    /// with the same configuration.
    ///
    /// The first one belongs to the caller's session as a `dataTask` would: a stub of `URLProtocol.registerClass` sees
    /// it (with `URLSession.shared`), `getAllTasks` lists it, `invalidateAndCancel()` cancels it, and it shares the
    /// connections of the app's own tasks. The app is inside the call, so the session is valid, or this raises an
    /// exception, as `dataTask` does. Later, creating a task on it would raise an exception if the app has invalidated
    /// it meanwhile. Nobody can invalidate `URLSession.shared`, so all attempts run on that.
    func startOnApple(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
      // A canceled call must not create a task.
      if completion.hasEnded { return }
      let isPrivate = outgoing.usesPrivateSession && session !== URLSession.shared
      let task = makeTask(outgoing, on: isPrivate ? privateSession : session)
      task.delegate = AppleTaskDelegate(outgoing, for: session, callersDelegate, completion)
      if isPrivate {
        // URLSession calls this method at once, but only on a session's own delegate.
        (callersDelegate as? any URLSessionTaskDelegate)?.urlSession?(session, didCreateTask: task)
      }
      completion.onCancel { task.cancel() }
      outgoing.bodies?.onTask(task)
      task.resume()
    }

    /// It has no delegate. Those of its tasks call the delegate of the caller's session as URLSession would for a task
    /// with a completion handler.
    private var privateSession: URLSession {
      NetworkPrivateSession.of(session) {
        URLSession(configuration: session.configuration, delegate: nil, delegateQueue: session.delegateQueue)
      }
    }

    private func makeTask(_ outgoing: NetworkOutgoing, on urlSession: URLSession) -> URLSessionTask {
      if let file = outgoing.bodies?.file { return urlSession.uploadTask(with: outgoing.request, fromFile: file) }
      if outgoing.bodies?.stream != nil { return urlSession.uploadTask(withStreamedRequest: outgoing.request) }
      return urlSession.dataTask(with: outgoing.request)
    }
  }
#endif
