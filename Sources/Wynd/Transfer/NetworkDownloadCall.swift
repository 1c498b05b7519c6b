import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One download with all its attempts. An attempt opens the partial file, requests the missing bytes, appends them, and
/// moves the file to its destination when it is complete. It does not retry: an incomplete response is a failed attempt,
/// and the retry loop decides about the next one.
nonisolated struct NetworkDownloadCall: Sendable {
  /// How far the download is.
  private enum Phase: Sendable {
    /// No attempt is under way: the first one has not begun, or the last one has failed.
    case idle
    /// The attempt with this number is under way. The decision is what its response means; nil until it has one, and
    /// after a body that contradicts it.
    case receiving(attempt: Int, NetworkDownloadDecision?)
    /// The call has ended. No file is opened or moved any more.
    case ended

    /// What the response of the current attempt means.
    var decision: NetworkDownloadDecision? {
      if case .receiving(_, let decision) = self { decision } else { nil }
    }
  }

  private struct State: Sendable {
    var phase = Phase.idle
    /// Nil before the first attempt, and after the file was moved.
    var partial: NetworkPartialFile?
    /// The response that completed the file; nil until the file is at its destination.
    var response: HTTPURLResponse?
    /// The number of attempts so far.
    var attempts = 0
    /// The body of an error response.
    var errorBody = Data()
    /// Whether another request was made to confirm the end of the file.
    var hasRequestedEnd = false
    /// The largest size so far. Only bytes beyond it count as progress.
    var largest = Int64(0)
    /// Whether a file assembled from several responses was not valid.
    var wasInvalid = false
  }

  /// An attempt that is about to be sent.
  private struct Prepared: Sendable {
    var outgoing: NetworkOutgoing
    var attempt: Int
  }

  /// What the outcome of a request means for the file.
  private enum Judgment {
    /// All bytes have arrived. They are still to be validated.
    case isWhole(NetworkPartialFile)
    /// The attempt ends with this outcome.
    case failed(NetworkOutcome)
  }

  private let state = NetworkLock(State())
  let destination: URL
  let options: DownloadOptions
  let progress: NetworkProgressReporter

  /// The most that is kept of the body of an error.
  private static let longestErrorBody = 1_048_576
  /// The number of bytes that an attempt must add to count as progress. A few bytes for each attempt do not.
  private static let leastProgress = 16_384

  func plan(_ request: URLRequest, _ policy: RetryPolicy?) -> NetworkCallPlan {
    var plan = NetworkCallPlan(request, policy: policy)
    add(to: &plan)
    return plan
  }

  /// Makes each attempt of a call write its response to the file.
  func add(to plan: inout NetworkCallPlan) {
    plan.transfer = { send in
      { outgoing in await self.attempt(outgoing, send) }
    }
  }

  /// The result of the call, after closing the partial file.
  func end(_ result: RetryLoop.CallResult) -> Result<NetworkDownload, NetworkError> {
    let response = state.withLock { state in
      state.phase = .ended
      state.partial.take()?.close()
      return state.response
    }
    return result.flatMap { success in
      // A middleware may return a response of its own.
      guard let response else {
        return .failure(NetworkError(transfer: TransferError.invalidResponse(reason: "no file")))
      }
      return .success(NetworkDownload(file: destination, response: response, attempts: success.attempts))
    }
  }

  // MARK: Attempt

  /// Requests the missing bytes, and moves the file when it is complete.
  private func attempt(_ outgoing: NetworkOutgoing, _ send: NetworkSend) async -> NetworkOutcome {
    do {
      let prepared = try await prepared(outgoing)
      let outcome = await send(prepared.outgoing)
      switch judgment(of: outcome, in: prepared.attempt) {
      case .failed(let outcome): return outcome
      case .isWhole(let file):
        guard let response = outcome.response as? HTTPURLResponse else { throw NetworkError.noResponse }
        try await networkInBackground { try validate(file, prepared.attempt) }
        await progress.reportsAreDelivered()
        try await networkInBackground { try move(prepared.attempt, response) }
        return NetworkOutcome(
          response: response, accepted: NetworkResponse(data: Data(), response: response))
      }
    } catch { return NetworkOutcome(error: NetworkError(transfer: error)) }
  }

  /// Opens the partial file, and makes the request for what is missing. A download to the same place that was canceled
  /// needs a moment to close its file, so this waits for it.
  private func prepared(_ outgoing: NetworkOutgoing) async throws -> Prepared {
    let limit = ContinuousClock.now + .seconds(1)
    while true {
      do {
        return try await networkInBackground { try prepare(outgoing) }
      } catch TransferError.inUse where ContinuousClock.now < limit {
        try? await Task.sleep(for: .milliseconds(10))
        if Task.isCancelled { throw NetworkError.cancelled }
      }
    }
  }

  private func prepare(_ outgoing: NetworkOutgoing) throws -> Prepared {
    var request = outgoing.request
    if request.value(forHTTPHeaderField: "Range") != nil {
      throw NetworkError.invalidRequest(reason: "a download sets Range itself")
    }
    if request.httpMethod == "HEAD" { throw NetworkError.invalidRequest(reason: "a response to HEAD has no body") }
    // An offset in a compressed body is not an offset in the file, and a cache could return another part.
    request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    request.cachePolicy = .reloadIgnoringLocalCacheData
    return try state.withLock { state in
      let partial = try open(for: request, outgoing.secretFields, &state)
      state.attempts += 1
      state.phase = .receiving(attempt: state.attempts, nil)
      state.errorBody = Data()
      var offset = Int64(0)
      if partial.size > 0, let validator = partial.state.validator {
        offset = partial.size
        request.setValue("bytes=\(offset)-", forHTTPHeaderField: "Range")
        request.setValue(validator, forHTTPHeaderField: "If-Range")
      }
      var outgoing = outgoing
      outgoing.request = request
      outgoing.bodies = bodies(of: state.attempts, from: offset, isGET: request.networkMethod == "GET")
      return Prepared(outgoing: outgoing, attempt: state.attempts)
    }
  }

  private func open(
    for request: URLRequest, _ secretFields: Set<String>, _ state: inout State
  ) throws -> NetworkPartialFile {
    // The call was canceled before the attempt began.
    if case .ended = state.phase { throw NetworkError.cancelled }
    if let partial = state.partial { return partial }
    let partial = try NetworkPartialFile(for: destination, from: request, options, secretFields: secretFields)
    state.partial = partial
    state.largest = partial.size
    return partial
  }

  // MARK: Response

  /// Receives the response of an attempt that requests what follows this offset.
  private func bodies(of attempt: Int, from offset: Int64, isGET: Bool) -> NetworkBodies {
    NetworkBodies(
      onHead: { head in
        try self.inAttempt(attempt) { state, partial in
          let decision = NetworkDownloadDecision(
            status: head.statusCode, offset: offset, known: partial.state, isGET: isGET,
            field: head.networkValue(of:))
          state.phase = .receiving(attempt: attempt, decision)
          state.errorBody = Data()
          try self.carryOut(decision, partial)
        }
      },
      onData: { data in
        try self.inAttempt(attempt) { state, partial in try self.receive(data, &state, partial) }
      })
  }

  private func carryOut(_ decision: NetworkDownloadDecision, _ partial: NetworkPartialFile) throws {
    switch decision {
    case .write(let offset, _, let known): try partial.begin(known, at: offset)
    case .startOver:
      try startOver(partial)
      throw TransferError.changed(reason: "the response is not the rest of the file")
    case .invalid(let reason): throw TransferError.invalidResponse(reason: reason)
    case .complete, .failed: break
    }
  }

  private func receive(_ data: Data, _ state: inout State, _ partial: NetworkPartialFile) throws {
    switch state.phase.decision {
    case .write(let offset, let end, _):
      if let end, partial.size + Int64(data.count) > end {
        // The partial file must not fail every later request in the same way.
        state.phase = .receiving(attempt: state.attempts, nil)
        try startOver(partial)
        let isRest = offset > 0
        if isRest { throw TransferError.changed(reason: "the rest is too long") }
        throw TransferError.invalidResponse(reason: "it is too long")
      }
      try partial.handle.write(contentsOf: data)
      progress.report(partial.size, of: partial.state.total)
    case .failed:
      let free = max(0, Self.longestErrorBody - state.errorBody.count)
      state.errorBody += data.prefix(free)
    default: break
    }
  }

  /// The state remains: the next response is compared with it, and the same version must have the same length.
  private func startOver(_ partial: NetworkPartialFile) throws {
    progress.report(0, of: nil)
    try partial.cut(to: 0)
  }

  // MARK: Completion

  /// Whether the file may be complete after an attempt.
  private func judgment(of outcome: NetworkOutcome, in attempt: Int) -> Judgment {
    let response = outcome.response as? HTTPURLResponse
    return state.withLock { state in
      var outcome = outcome
      guard case .receiving(attempt, let decision) = state.phase, let partial = state.partial
      else { return .failed(outcome) }
      outcome.hasProgressed = partial.size - state.largest >= Self.leastProgress
      state.largest = max(state.largest, partial.size)
      outcome.data = state.errorBody
      // With a 416, the server confirms that nothing is missing. To URLSession, it may be an error.
      let mayBeWhole = decision == .complete || outcome.error == nil
      guard mayBeWhole, let decision, decision != .failed else {
        state.phase = .idle
        return .failed(outcome)
      }
      #if canImport(FoundationNetworking)
        // Not necessary: libcurl reports a body that was cut off.
        state.hasRequestedEnd = true
      #endif
      let mustRequestEnd = !state.hasRequestedEnd && decision.mayBeCutOff { response?.value(forHTTPHeaderField: $0) }
      if decision.isWhole(partial.size), !mustRequestEnd { return .isWhole(partial) }
      if mustRequestEnd { state.hasRequestedEnd = true }
      state.phase = .idle
      outcome.error = URLError(.networkConnectionLost)
      return .failed(outcome)
    }
  }

  /// Validates a complete file, and flushes it to the disk.
  private func validate(_ file: NetworkPartialFile, _ attempt: Int) throws {
    do {
      try options.validate?(file.url)
    } catch {
      try inAttempt(attempt) { state, partial in try self.rejected(&state, partial) }
      throw TransferError.invalidFile(error)
    }
    try? file.handle.synchronize()
    try inAttempt(attempt) { _, partial in progress.report(partial.size, of: partial.size) }
  }

  /// Moves a complete file to its destination. If that fails, so does the attempt, which is not retried, and the partial
  /// file remains for the next call.
  private func move(_ attempt: Int, _ response: HTTPURLResponse) throws {
    try inAttempt(attempt) { state, partial in
      state.phase = .idle
      try partial.move(overwrites: options.overwrites)
      partial.close()
      state.partial = nil
      state.response = response
    }
  }

  /// Starts over after a file that is not valid. If it was put together from several responses, an earlier part may have
  /// been damaged: the file is downloaded again from the beginning, but only once.
  private func rejected(_ state: inout State, _ partial: NetworkPartialFile) throws {
    try startOver(partial)
    if case .write(from: 0, _, _) = state.phase.decision { return }
    let isFirst = !state.wasInvalid
    state.wasInvalid = true
    if isFirst { throw TransferError.changed(reason: "the whole is not valid") }
  }

  /// Does nothing if the attempt is no longer the current one, or the call has ended: a canceled download must not leave
  /// a file.
  private func inAttempt(_ attempt: Int, _ body: (inout State, NetworkPartialFile) throws -> Void) throws {
    do {
      try state.withLock { state in
        guard case .receiving(attempt, _) = state.phase, let partial = state.partial else { return }
        try body(&state, partial)
      }
    } catch { throw NetworkError(transfer: error) }
  }
}
