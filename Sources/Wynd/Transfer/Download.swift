import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The attempts of a download.
nonisolated struct DownloadTransport: NetworkTransport {
  let base: any NetworkTransport
  let download: Download

  var isInvalidated: Bool { base.isInvalidated }

  func validationError(for request: URLRequest) -> String? {
    if request.value(forHTTPHeaderField: "Range") != nil { return "a download sets Range itself" }
    if request.httpMethod == "HEAD" { return "a response to HEAD has no body" }
    return base.validationError(for: request)
  }

  func prepare(
    _ request: URLRequest, _: NetworkTransferBody?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    TransferHandle { _ in
      do throws(TransferError) {
        let (outgoing, attempt) = try download.begin(request)
        let receiver = DownloadReceiver(download: download, attempt: attempt, isGET: request.isGET)
        return base.prepare(outgoing, NetworkTransferBody(to: receiver)) {
          download.finish($0, attempt: attempt, completion)
        }
      } catch {
        completion(NetworkOutcome(error: NetworkError.transferFailed(error)))
        return nil
      }
    }
  }
}

/// Passes the response of one attempt on.
nonisolated private final class DownloadReceiver: NetworkBodyReceiver {
  private let download: Download
  private let attempt: Int
  private let isGET: Bool

  init(download: Download, attempt: Int, isGET: Bool) {
    (self.download, self.attempt, self.isGET) = (download, attempt, isGET)
  }

  func receive(_ head: HTTPURLResponse) throws(NetworkError) {
    do throws(TransferError) { try download.receive(head, isGET: isGET, attempt: attempt) } catch {
      throw .transferFailed(error)
    }
  }

  func receive(_ data: Data) throws(NetworkError) {
    do throws(TransferError) { try download.receive(data, attempt: attempt) } catch { throw .transferFailed(error) }
  }

  func sent(_ bytes: Int64) {}
}

/// One download over all its attempts. An attempt opens the partial file, requests what is missing of it, appends what
/// comes, and puts a whole file in its place. It never sends again by itself: a response that is short is a failed attempt,
/// and the loop decides about the next one.
nonisolated final class Download: Sendable {
  private struct State: Sendable {
    var partial: PartialFile?
    /// The number of the current attempt. One that was cancelled earlier writes nothing any more.
    var attempt = 0
    /// The size of the partial file when the attempt began, what its response means, and the body of an error.
    var offset = Int64(0)
    var step: DownloadStep?
    var mayBeCutOff = false
    var errorBody = Data()
    /// The largest size so far: what has to be exceeded to make progress.
    var largest = Int64(0)
    /// The file was put together from several responses.
    var isJoined = false
    var wasInvalid = false
    var hasRequestedEnd = false
    /// The call has ended.
    var isClosed = false
    /// The file is in its place.
    var response: HTTPURLResponse?
  }
  private let state = NetworkLock(State())
  private let destination: URL
  private let options: DownloadOptions
  private let progress: ProgressReporter

  init(to destination: URL, _ options: DownloadOptions) {
    self.destination = destination
    self.options = options
    progress = ProgressReporter(options.onProgress)
  }

  func call(_ request: URLRequest, _ policy: RetryPolicy?, _ maxRetries: Int?) -> NetworkCallPlan {
    NetworkCallPlan(
      request: request, policy: policy, maxRetries: maxRetries,
      transfer: { DownloadTransport(base: $0, download: self) })
  }

  /// The result of the call. A file that is in its place counts, also if a cancellation came at the same moment.
  func end(_ result: RetryLoop.CallResult) -> Result<NetworkDownload, NetworkError> {
    let response = state.withLock { state in
      state.isClosed = true
      state.partial?.close(isDone: state.response != nil)
      state.partial = nil
      return state.response
    }
    if let response {
      let attempts: [RetryFailure.Attempt]
      switch result {
      case .success(let call): attempts = call.attempts
      case .failure(let error): attempts = error.attempts
      }
      return .success(NetworkDownload(file: destination, response: response, attempts: attempts))
    }
    // A success without a file is the response of a middleware.
    return result.flatMap { _ in .failure(.transferFailed(TransferError.invalidResponse(reason: "no file"))) }
  }

  // MARK: One attempt

  /// The request for what is missing, and the number of the attempt.
  fileprivate func begin(_ request: URLRequest) throws(TransferError) -> (URLRequest, attempt: Int) {
    let (offset, validator, attempt) = try locked { state throws(TransferError) in
      // Cancelled before it began.
      if state.isClosed { throw .invalidResponse(reason: "cancelled") }
      let partial: PartialFile
      if let opened = state.partial {
        partial = opened
      } else {
        partial = try PartialFile(for: destination, from: request.url, options)
        (state.partial, state.largest) = (partial, partial.size)
      }
      state.offset = partial.state.validator != nil && request.isGET ? partial.size : 0
      (state.step, state.errorBody) = (nil, Data())
      state.attempt += 1
      return (state.offset, partial.state.validator, state.attempt)
    }
    var request = request
    // A place in a compressed body is not a place in the file, and a cache might respond with another part.
    request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    request.cachePolicy = .reloadIgnoringLocalCacheData
    if let validator, offset > 0 {
      request.setValue("bytes=\(offset)-", forHTTPHeaderField: "Range")
      request.setValue(validator, forHTTPHeaderField: "If-Range")
    }
    return (request, attempt)
  }

  fileprivate func receive(_ head: HTTPURLResponse, isGET: Bool, attempt: Int) throws(TransferError) {
    _ = try inAttempt(attempt) { state, partial throws(TransferError) in
      let field = { head.value(forHTTPHeaderField: $0) }
      let step = DownloadStep(status: head.statusCode, offset: state.offset, known: partial.state, field: field)
      state.step = step
      state.mayBeCutOff = isGET && step.mayBeCutOff(field)
      state.isJoined = state.offset > 0
      switch step {
      case .fromStart(let known):
        state.isJoined = false
        try partial.begin(known)
      case .append(_, let known):
        guard isGET else { throw .invalidResponse(reason: "a part, which was not requested") }
        if state.offset == 0 { try partial.begin(known) } else { try partial.save(known) }
      case .startOver:
        try startOver(partial)
        throw .changed(reason: "the response is a part of another version")
      case .invalid(let reason): throw .invalidResponse(reason: reason)
      case .complete, .failed: break
      }
    }
  }

  fileprivate func receive(_ data: Data, attempt: Int) throws(TransferError) {
    let received = try inAttempt(attempt) { state, partial throws(TransferError) -> TransferProgress? in
      var limit = partial.state.total
      switch state.step {
      case .fromStart: break
      case .append(let last, _): limit = last + 1
      case .failed:
        state.errorBody += data.prefix(max(0, 1_048_576 - state.errorBody.count))
        return nil
      default: return nil
      }
      if let limit, partial.size + Int64(data.count) > limit {
        try partial.cut(to: state.offset)
        throw .invalidResponse(reason: "it is too long")
      }
      try partial.append(data)
      return TransferProgress(completed: partial.size, total: partial.state.total)
    }
    if let received = received ?? nil { progress.report(received.completed, of: received.total) }
  }

  private func startOver(_ partial: PartialFile) throws(TransferError) {
    progress.report(0, of: nil)
    try partial.begin(DownloadState(source: partial.state.source))
  }

  // MARK: Its end

  /// Completes the attempt, with a file in its place if it is whole.
  fileprivate func finish(
    _ outcome: NetworkOutcome, attempt: Int, _ completion: @escaping NetworkTransport.Completion
  ) {
    let (outcome, isWhole) = judge(outcome, attempt)
    if !isWhole { return completion(outcome) }
    // In the background: to validate a large file, and to flush it to the disk, takes time.
    DispatchQueue(label: "Wynd.Download", qos: .userInitiated).async { [self] in
      do throws(TransferError) {
        try putInPlace(outcome.response as? HTTPURLResponse)
        progress.afterReports {
          completion(NetworkOutcome(data: Data(), response: outcome.response, isAccepted: true))
        }
      } catch {
        completion(NetworkOutcome(error: NetworkError.transferFailed(error)))
      }
    }
  }

  private func judge(_ outcome: NetworkOutcome, _ attempt: Int) -> (NetworkOutcome, isWhole: Bool) {
    state.withLock { state in
      var outcome = outcome
      guard state.attempt == attempt, let partial = state.partial else { return (outcome, false) }
      // No more data of this attempt. A handful of bytes each time is not progress that a download could live on.
      state.attempt += 1
      outcome.hasProgressed = partial.size - state.largest >= 16_384
      state.largest = max(state.largest, partial.size)
      outcome.data = state.errorBody
      switch state.step {
      case .complete?: return (outcome, true)
      case .fromStart?, .append?:
        guard let step = state.step, outcome.error == nil else { break }
        #if !canImport(FoundationNetworking)
          // libcurl reports a missing end.
          let mustRequestEnd = state.mayBeCutOff && !state.hasRequestedEnd
          state.hasRequestedEnd = state.hasRequestedEnd || mustRequestEnd
        #else
          let mustRequestEnd = false
        #endif
        if step.isWhole(partial.size), !mustRequestEnd { return (outcome, true) }
        outcome.error = URLError(.networkConnectionLost)
      default: break
      }
      return (outcome, false)
    }
  }

  private func putInPlace(_ response: HTTPURLResponse?) throws(TransferError) {
    guard let partial = state.withLock({ $0.isClosed ? nil : $0.partial }) else { return }
    do { try options.validate?(partial.url) } catch {
      try locked { state throws(TransferError) in
        if state.isClosed { return }
        try startOver(partial)
        // A part that was kept may have been damaged: once more, from the beginning.
        defer { state.wasInvalid = true }
        if state.isJoined, !state.wasInvalid { throw .changed(reason: "the whole is not valid") }
      }
      throw .invalidFile(error)
    }
    partial.synchronize()
    let size = try locked { state throws(TransferError) in
      // A download that was cancelled leaves no file.
      if !state.isClosed {
        try partial.move(overwrites: options.overwrites)
        state.response = response
      }
      return partial.size
    }
    progress.report(size, of: size)
  }

  // MARK: The lock, with errors

  private func locked<Value: Sendable>(
    _ body: (inout State) throws(TransferError) -> Value
  ) throws(TransferError) -> Value {
    try state.withLock { state -> Result<Value, TransferError> in
      do throws(TransferError) { return .success(try body(&state)) } catch { return .failure(error) }
    }.get()
  }

  /// Nil if the attempt is not the current one any more.
  private func inAttempt<Value: Sendable>(
    _ attempt: Int, _ body: (inout State, PartialFile) throws(TransferError) -> Value
  ) throws(TransferError) -> Value? {
    try locked { state throws(TransferError) in
      guard state.attempt == attempt, let partial = state.partial else { return nil }
      return try body(&state, partial)
    }
  }
}

nonisolated extension URLRequest {
  fileprivate var isGET: Bool { httpMethod ?? "GET" == "GET" }
}
