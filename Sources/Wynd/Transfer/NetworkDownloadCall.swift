import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One download with all its attempts. An attempt opens the partial file, requests the missing bytes, appends them, and
/// checks the file when it is complete. It does not retry: an incomplete response is a failed attempt, and the retry
/// loop decides about the next one. The file is moved to its destination when the call ends successfully.
nonisolated struct NetworkDownloadCall: Sendable {
  private struct State: Sendable {
    var partial: NetworkPartialFile?
    /// The number of the current attempt; nil if the call has ended. An earlier attempt that was canceled must not write
    /// any more.
    var attempt: Int? = 0
    /// What the response means, and the body of an error response.
    var step: NetworkDownloadDecision?
    var errorBody = Data()
    /// Whether another request was made to confirm the end of the file.
    var hasRequestedEnd = false
    /// The largest size so far. Only bytes beyond it count as progress.
    var largest = Int64(0)
    /// Whether a file assembled from several responses was not valid.
    var wasInvalid = false
    /// The response that completed the file.
    var response: HTTPURLResponse?
  }
  private let state = NetworkLock(State())
  let destination: URL
  let options: DownloadOptions
  let progress: NetworkProgressReporter

  func plan(_ request: URLRequest, _ policy: RetryPolicy?, _ maxRetries: Int?) -> NetworkCallPlan {
    var plan = NetworkCallPlan(request, policy: policy, maxRetries: maxRetries)
    plan.isTransfer = true
    plan.around = { send in
      { outgoing in await self.attempt(outgoing, send) }
    }
    return plan
  }

  /// The result of the call, after moving the file to its destination if it is a success.
  func end(_ result: RetryLoop.CallResult) -> Result<NetworkDownload, NetworkError> {
    state.withLock { state in
      let partial = state.partial
      state.attempt = nil
      state.partial = nil
      let ended = Result { try moveToDestination(partial, state.response, result) }
        .mapError(NetworkError.init(transfer:))
      // A complete file that a middleware rejected must not be resumed.
      if case .failure(let error) = result, state.response != nil, !error.isCancellation { try? partial?.cut(to: 0) }
      partial?.close(isDone: (try? ended.get()) != nil)
      return ended
    }
  }

  private func moveToDestination(
    _ partial: NetworkPartialFile?, _ response: HTTPURLResponse?, _ result: RetryLoop.CallResult
  ) throws -> NetworkDownload {
    let attempts = try result.get().attempts
    // A middleware may return a response of its own.
    guard let partial, let response else { throw TransferError.invalidResponse(reason: "no file") }
    try partial.move(overwrites: options.overwrites)
    return NetworkDownload(file: destination, response: response, attempts: attempts)
  }

  // MARK: Attempt

  /// Requests the missing bytes, and checks the file when it is complete.
  private func attempt(_ outgoing: NetworkOutgoing, _ send: NetworkSend) async -> NetworkOutcome {
    do {
      let request = try await networkInBackground { try prepare(outgoing) }
      let outcome = await send(request.outgoing)
      let judgment = judge(outcome, of: request.attempt)
      guard let whole = judgment.whole else { return judgment.outcome }
      let response = outcome.response as? HTTPURLResponse
      try await networkInBackground { try complete(whole, response, request.attempt) }
      await progress.reportsAreDelivered()
      return NetworkOutcome(response: response, accepted: response.map { NetworkResponse(data: Data(), response: $0) })
    } catch { return NetworkOutcome(error: NetworkError(transfer: error)) }
  }

  private struct Request: Sendable {
    var outgoing: NetworkOutgoing
    var attempt: Int?
  }

  private func prepare(_ outgoing: NetworkOutgoing) throws -> Request {
    var request = outgoing.request
    if request.value(forHTTPHeaderField: "Range") != nil {
      throw NetworkError.invalidRequest(reason: "a download sets Range itself")
    }
    if request.httpMethod == "HEAD" { throw NetworkError.invalidRequest(reason: "a response to HEAD has no body") }
    let isGET = request.networkMethod == "GET"
    // An offset in a compressed body is not an offset in the file, and a cache could return another part.
    request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    request.cachePolicy = .reloadIgnoringLocalCacheData
    let (attempt, offset) = try state.withLock { state in
      // The call was canceled before the attempt began.
      if state.attempt == nil { throw NetworkError.cancelled }
      let partial = try state.partial ?? NetworkPartialFile(for: destination, from: request, options)
      if state.partial == nil {
        state.partial = partial
        state.largest = partial.size
      }
      // A middleware rejected the complete file, or requests it once more.
      if state.response != nil { try startOver(partial) }
      state.step = nil
      state.errorBody = Data()
      state.response = nil
      state.attempt? += 1
      guard partial.size > 0, let validator = partial.state.validator else { return (state.attempt, Int64(0)) }
      request.setValue("bytes=\(partial.size)-", forHTTPHeaderField: "Range")
      request.setValue(validator, forHTTPHeaderField: "If-Range")
      return (state.attempt, partial.size)
    }
    let bodies = NetworkBodies(
      onHead: { head in
        try self.inAttempt(attempt) { state, partial in
          let step = NetworkDownloadDecision(
            status: head.statusCode, offset: offset, known: partial.state, isGET: isGET,
            field: head.value(forHTTPHeaderField:))
          state.step = step
          state.errorBody = Data()
          switch step {
          case .write(let offset, _, let known): try partial.begin(known, at: offset)
          case .startOver:
            try startOver(partial)
            throw TransferError.changed(reason: "the response is not the rest of the file")
          case .otherLength:
            try startOver(partial, expecting: partial.state)
            throw TransferError.changed(reason: "the same version has another length")
          case .invalid(let reason): throw TransferError.invalidResponse(reason: reason)
          case .complete, .failed: break
          }
        }
      },
      onData: { data in try self.inAttempt(attempt) { try self.receive(data, &$0, $1) } })
    var outgoing = outgoing
    outgoing.request = request
    outgoing.bodies = bodies
    return Request(outgoing: outgoing, attempt: attempt)
  }

  private func receive(_ data: Data, _ state: inout State, _ partial: NetworkPartialFile) throws {
    switch state.step {
    case .write(let offset, let end, _):
      if let end, partial.size + Int64(data.count) > end {
        // The partial file must not fail every later request in the same way.
        let isRest = offset > 0
        state.step = nil
        try startOver(partial)
        if isRest { throw TransferError.changed(reason: "the rest is too long") }
        throw TransferError.invalidResponse(reason: "it is too long")
      }
      try partial.handle.write(contentsOf: data)
      progress.report(partial.size, of: partial.state.total)
    case .failed: state.errorBody += data.prefix(max(0, 1_048_576 - state.errorBody.count))
    default: break
    }
  }

  /// `known`: what the next response is compared with; by default nothing.
  private func startOver(_ partial: NetworkPartialFile, expecting known: NetworkDownloadState? = nil) throws {
    progress.report(0, of: nil)
    try partial.begin(known ?? NetworkDownloadState(source: partial.state.source))
  }

  // MARK: Completion

  /// What an attempt means: the file, if it may be complete, otherwise the outcome.
  private func judge(
    _ outcome: NetworkOutcome, of attempt: Int?
  ) -> (whole: NetworkPartialFile?, outcome: NetworkOutcome) {
    let response = outcome.response as? HTTPURLResponse
    return state.withLock { state in
      var outcome = outcome
      guard state.attempt == attempt, let partial = state.partial else { return (nil, outcome) }
      // A few bytes for each attempt do not count as progress.
      outcome.hasProgressed = partial.size - state.largest >= 16_384
      state.largest = max(state.largest, partial.size)
      outcome.data = state.errorBody
      guard let step = state.step, step != .failed, step == .complete || outcome.error == nil
      else { return (nil, outcome) }
      #if canImport(FoundationNetworking)
        // Not necessary: libcurl reports a body that was cut off.
        state.hasRequestedEnd = true
      #endif
      let mustRequestEnd = !state.hasRequestedEnd && step.mayBeCutOff { response?.value(forHTTPHeaderField: $0) }
      if step.isWhole(partial.size), !mustRequestEnd { return (partial, outcome) }
      state.hasRequestedEnd = mustRequestEnd || state.hasRequestedEnd
      outcome.error = URLError(.networkConnectionLost)
      return (nil, outcome)
    }
  }

  /// Validates a complete file, and flushes it to the disk.
  private func complete(_ whole: NetworkPartialFile, _ response: HTTPURLResponse?, _ attempt: Int?) throws {
    do { try options.validate?(whole.url) } catch {
      try inAttempt(attempt) { state, partial in
        try startOver(partial)
        if case .write(0, _, _)? = state.step { return }
        // An earlier part may have been damaged: download the file again from the beginning, but only once.
        defer { state.wasInvalid = true }
        if !state.wasInvalid { throw TransferError.changed(reason: "the whole is not valid") }
      }
      throw TransferError.invalidFile(error)
    }
    try? whole.handle.synchronize()
    try inAttempt(attempt) { state, partial in
      state.response = response
      progress.report(partial.size, of: partial.size)
    }
  }

  /// Does nothing if the attempt is no longer the current one, or the call has ended: a canceled download must not leave
  /// a file.
  private func inAttempt(_ attempt: Int?, _ body: (inout State, NetworkPartialFile) throws -> Void) throws {
    do {
      try state.withLock { state in
        guard state.attempt == attempt, let partial = state.partial else { return }
        try body(&state, partial)
      }
    } catch { throw NetworkError(transfer: error) }
  }
}
