import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One download with all its attempts. An attempt opens the partial file, requests the missing bytes, appends them, and
/// moves the file to its destination when it is complete. It does not retry: an incomplete response is a failed
/// attempt, and the retry loop decides about the next one.
nonisolated final class NetworkDownloadCall: Sendable {
  private struct State: Sendable {
    /// Nil before the first attempt, after the file was moved, and after the end.
    var partial: NetworkPartialFile?
    /// The response that completed the file; nil until the file is at its destination.
    var response: HTTPURLResponse?
    /// Whether the call has ended. No file is opened any more.
    var hasEnded = false
    /// The number of attempts so far, including the current one.
    var attempts = 0
    /// What the response of the current attempt means; nil until it has one, and after a body that contradicts it.
    var decision: NetworkDownloadDecision?
    /// The body of an error response.
    var errorBody = Data()
    /// Whether another request was made to confirm the end of the file.
    var hasRequestedEnd = false
    /// The largest size so far. Only bytes beyond it count as progress.
    var largest = Int64(0)
    /// Whether a file assembled from several responses was not valid.
    var wasInvalid = false
  }

  private let state = NetworkLock(State())
  private let destination: URL
  private let overwrites: Bool
  private let resumes: Bool
  private let name: String?
  private let validate: (@Sendable (URL) throws -> Void)?
  private let progress: NetworkProgressReporter

  /// The number of bytes that an attempt must add to count as progress. A few bytes for each attempt do not.
  private static let leastProgress = 16_384

  init(
    to destination: URL, overwrites: Bool, resumes: Bool, name: String? = nil,
    validate: (@Sendable (URL) throws -> Void)?, _ onProgress: (@Sendable (TransferProgress) -> Void)?
  ) {
    self.destination = destination
    self.overwrites = overwrites
    self.resumes = resumes || name != nil
    self.name = name
    self.validate = validate
    progress = NetworkProgressReporter(onProgress)
  }

  /// The call, each attempt of which writes its response to the file.
  func added(to plan: NetworkCallPlan) -> NetworkCallPlan {
    var plan = plan
    plan.transfer = { send in
      { outgoing in await self.attempt(outgoing, send) }
    }
    return plan
  }

  /// The result of the call, after closing the partial file.
  func finish(_ result: RetryLoop.CallResult) -> Swift.Result<NetworkResponse<URL>, NetworkError> {
    let response = state.withLock { state in
      state.hasEnded = true
      state.partial.take()?.close()
      return state.response
    }
    return result.flatMap { success in
      // A middleware may return a response of its own.
      guard let response else {
        return .failure(NetworkError(transfer: TransferError.invalidResponse(reason: "no file")))
      }
      return .success(NetworkResponse(value: destination, response: response, attempts: success.attempts))
    }
  }

  // MARK: Attempt

  /// Requests the missing bytes, and moves the file when it is complete.
  private func attempt(_ outgoing: NetworkOutgoing, _ send: NetworkSend) async -> NetworkOutcome {
    do {
      let attempt = state.withLock { state in
        state.attempts += 1
        return state.attempts
      }
      var outcome = try await send(prepared(outgoing, for: attempt))
      guard let file = try wholeFile(after: &outcome, in: attempt) else { return outcome }
      guard let response = outcome.response as? HTTPURLResponse else { throw NetworkError.noResponse }
      try await validate(file, attempt)
      try await networkInBackground { try self.synchronize(file, attempt) }
      await progress.waitForReports()
      try await networkInBackground { try self.move(attempt, response) }
      return NetworkOutcome(response: response, accepted: NetworkBox(NetworkResponse(data: Data(), response: response)))
    } catch { return NetworkOutcome(error: NetworkError(transfer: error)) }
  }

  /// Opens the partial file, and makes the request for what is missing. A download to the same place that was canceled
  /// needs a moment to close its file, so this tries for about a second, and longer on a busy machine.
  private func prepared(_ outgoing: NetworkOutgoing, for attempt: Int) async throws -> NetworkOutgoing {
    var openings = 1
    while true {
      do {
        return try await networkInBackground { try self.prepare(outgoing, for: attempt) }
      } catch TransferError.inUse where openings < 100 {
        openings += 1
        try? await _Concurrency.Task.sleep(for: .milliseconds(10))
        if _Concurrency.Task.isCancelled { throw NetworkError.cancelled }
      }
    }
  }

  private func prepare(_ outgoing: NetworkOutgoing, for attempt: Int) throws -> NetworkOutgoing {
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
      state.decision = nil
      state.errorBody = Data()
      var offset = Int64(0)
      if partial.size > 0, let validator = partial.state.validator {
        offset = partial.size
        request.setValue("bytes=\(offset)-", forHTTPHeaderField: "Range")
        request.setValue(validator, forHTTPHeaderField: "If-Range")
      }
      var outgoing = outgoing
      outgoing.request = request
      outgoing.bypassesURLCache = true
      outgoing.bodies = bodies(of: attempt, from: offset, isGET: request.networkMethod == "GET")
      return outgoing
    }
  }

  private func open(
    for request: URLRequest, _ secretFields: Set<String>, _ state: inout State
  ) throws -> NetworkPartialFile {
    // The call was canceled before the attempt started.
    if state.hasEnded { throw NetworkError.cancelled }
    if let partial = state.partial { return partial }
    let partial = try NetworkPartialFile(
      for: destination, from: request, overwrites: overwrites, resumes: resumes, name: name,
      secretFields: secretFields)
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
          state.decision = decision
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
    case .write(let body, let known): try partial.begin(known, body)
    case .startOver:
      try startOver(partial)
      throw TransferError.changed(reason: "the response is not the rest of the file")
    case .invalid(let reason): throw TransferError.invalidResponse(reason: reason)
    case .complete, .failed: break
    }
  }

  private func receive(_ data: Data, _ state: inout State, _ partial: NetworkPartialFile) throws {
    switch state.decision {
    case .write(let body, _):
      if let end = body.end, partial.size + Int64(data.count) > end {
        // The partial file must not fail every later request in the same way.
        state.decision = nil
        try startOver(partial)
        if body.kept > 0 { throw TransferError.changed(reason: "the rest is too long") }
        throw TransferError.invalidResponse(reason: "it is too long")
      }
      if try !partial.write(data, body) {
        state.decision = nil
        try startOver(partial)
        throw TransferError.changed(reason: "the part repeats other bytes")
      }
      progress.report(max(partial.size, body.kept), of: partial.state.total)
    case .failed:
      state.errorBody += data.prefix(max(0, NetworkByteStream.longestErrorBody - state.errorBody.count))
    default: break
    }
  }

  /// Removes the bytes, but not the state: the next response is compared with it, because the same version must have
  /// the same length.
  private func startOver(_ partial: NetworkPartialFile) throws {
    progress.report(0, of: nil)
    try partial.cut(to: 0)
  }

  // MARK: Completion

  /// The file, if it may be complete after an attempt. Otherwise the outcome is a failure.
  private func wholeFile(after outcome: inout NetworkOutcome, in attempt: Int) throws -> NetworkPartialFile? {
    let response = outcome.response as? HTTPURLResponse
    return try state.withLock { state in
      guard attempt == state.attempts, let partial = state.partial else { return nil }
      try discardUntrusted(state.decision, partial, isCutOff: outcome.error != nil)
      outcome.hasProgressed = partial.size - state.largest >= Self.leastProgress
      state.largest = max(state.largest, partial.size)
      outcome.data = state.errorBody
      // With a 416, the server confirms that nothing is missing. To URLSession, it may be an error.
      let mayBeWhole = state.decision == .complete || outcome.error == nil
      guard mayBeWhole, let decision = state.decision, decision != .failed else { return nil }
      #if canImport(FoundationNetworking)
        // Not necessary: libcurl reports a body that was cut off.
        state.hasRequestedEnd = true
      #endif
      let mustRequestEnd = !state.hasRequestedEnd && decision.mayBeCutOff { response?.value(forHTTPHeaderField: $0) }
      if decision.isWhole(partial.size), !mustRequestEnd { return partial }
      if mustRequestEnd { state.hasRequestedEnd = true }
      outcome.error = URLError(.networkConnectionLost)
      return nil
    }
  }

  /// Removes what a response has added whose length is not what it says, as if it had not arrived.
  private func discardUntrusted(
    _ decision: NetworkDownloadDecision?, _ partial: NetworkPartialFile, isCutOff: Bool
  ) throws {
    guard case .write(let body, _) = decision else { return }
    let isTrusted = body.isTrusted(at: partial.size, isCutOff: isCutOff)
    // A body that ended while it repeated bytes has added none.
    if !isTrusted || partial.size < body.kept { try partial.cut(to: body.kept) }
  }

  /// Validates a complete file, on a queue of its own: the app's closure may take long, or wait for another download.
  private func validate(_ file: NetworkPartialFile, _ attempt: Int) async throws {
    guard let validate else { return }
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Swift.Error>) in
      DispatchQueue.network("validate").async { [self] in
        continuation.resume(
          with: Swift.Result {
            do { try validate(file.url) } catch {
              try inAttempt(attempt) { state, partial in try rejected(&state, partial) }
              throw TransferError.invalidFile(error)
            }
          })
      }
    }
  }

  /// Flushes a complete file to the disk.
  private func synchronize(_ file: NetworkPartialFile, _ attempt: Int) throws {
    try? file.handle.synchronize()
    try inAttempt(attempt) { _, partial in progress.report(partial.size, of: partial.size) }
  }

  /// Moves a complete file to its destination. If that fails, so does the attempt, which is not retried, and the
  /// partial file remains for the next call.
  private func move(_ attempt: Int, _ response: HTTPURLResponse) throws {
    try inAttempt(attempt) { state, partial in
      try partial.move(overwrites: overwrites)
      partial.close()
      state.partial = nil
      state.response = response
    }
  }

  /// Starts over after a file that is not valid. If it was put together from several responses, an earlier part may
  /// have been damaged: the file is downloaded again from the beginning, but only once.
  private func rejected(_ state: inout State, _ partial: NetworkPartialFile) throws {
    try startOver(partial)
    if case .write(let body, _) = state.decision, body.start == 0 { return }
    let isFirst = !state.wasInvalid
    state.wasInvalid = true
    if isFirst { throw TransferError.changed(reason: "the whole is not valid") }
  }

  /// Does nothing if the attempt is no longer the current one, or the call has ended: a canceled download must not
  /// leave a file.
  private func inAttempt(_ attempt: Int, _ body: (inout State, NetworkPartialFile) throws -> Void) throws {
    do {
      try state.withLock { state in
        guard attempt == state.attempts, let partial = state.partial else { return }
        try body(&state, partial)
      }
    } catch { throw NetworkError(transfer: error) }
  }
}
