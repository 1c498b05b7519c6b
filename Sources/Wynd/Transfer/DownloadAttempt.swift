import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One attempt of a download: one request, or two, if the first answer was no part of the file.
nonisolated final class DownloadAttempt: NetworkBodyReceiver, NetworkRequestHandle, @unchecked Sendable {
  private let download: Download
  private let base: any NetworkTransport
  private let request: URLRequest
  private let completion: @Sendable (NetworkOutcome) -> Void

  private let flight = TransferFlight()
  // Set before the request is sent, then by the sink's calls, which come one after the other.
  private var offset = Int64(0)
  private var step: DownloadStep?
  private var errorBody = Data()

  init(
    _ download: Download, _ base: any NetworkTransport, _ request: URLRequest,
    _ completion: @escaping @Sendable (NetworkOutcome) -> Void
  ) {
    self.download = download
    self.base = base
    self.request = request
    self.completion = completion
  }

  func resume() {
    if !flight.wasCancelled { start() }
  }

  private func start() {
    do throws(TransferError) {
      step = nil
      errorBody = Data()
      let (asked, offset) = try download.begin(self, request)
      self.offset = offset
      flight.start { base.prepare(asked, NetworkTransferBody(to: self)) { [self] in finished($0) } }
    } catch {
      completion(NetworkOutcome(error: NetworkError.transferFailed(error)))
    }
  }

  func cancel() { flight.cancel() }

  func receive(_ head: HTTPURLResponse) throws(NetworkError) {
    do throws(TransferError) {
      let step = try download.step(self, head, offset: offset, isGET: request.httpMethod ?? "GET" == "GET")
      self.step = step
      switch step {
      case .startOver: throw .invalidAnswer(reason: "a part of another version")
      case .invalid(let reason): throw .invalidAnswer(reason: reason)
      default: break
      }
    } catch {
      throw .transferFailed(error)
    }
  }

  func receive(_ data: Data) throws(NetworkError) {
    do throws(TransferError) {
      switch step {
      case .fromStart: try download.append(self, data, from: 0, upTo: nil)
      case .append(let last, _): try download.append(self, data, from: offset, upTo: last)
      case .failed: errorBody += data.prefix(max(0, 1_048_576 - errorBody.count))
      default: break
      }
    } catch {
      throw .transferFailed(error)
    }
  }

  func sent(_ bytes: Int64) {}

  private func finished(_ outcome: NetworkOutcome) {
    flight.end()
    var outcome = outcome
    let (hasProgressed, size, total) = download.end(self)
    outcome.hasProgressed = hasProgressed
    switch step {
    case .startOver:
      return again(fromStart: true)
    case .failed, .invalid, nil:
      outcome.data = errorBody
    case .complete:
      return complete(outcome)
    case .fromStart, .append:
      guard outcome.error == nil else { break }
      if case .append(let last, _) = step, size == last + 1, size < total ?? .max,
        size - offset >= 65_536 || hasProgressed
      {
        // The server gives parts of a size that it likes.
        return again(fromStart: false)
      }
      // A part whose server does not know the length says nothing of the end.
      if case .append = step, total == nil { outcome.error = URLError(.networkConnectionLost); break }
      if size == total ?? size { return complete(outcome) }
      outcome.error = URLError(.networkConnectionLost)
    }
    completion(outcome)
  }

  private func again(fromStart: Bool) {
    do throws(TransferError) {
      // A server that changes its mind each time is asked again as any other that fails.
      var isOnceTooOften = false
      if fromStart { isOnceTooOften = try !download.startOver() }
      if isOnceTooOften || flight.wasCancelled {
        return completion(NetworkOutcome(error: URLError(.networkConnectionLost)))
      }
      start()
    } catch {
      completion(NetworkOutcome(error: NetworkError.transferFailed(error)))
    }
  }

  /// Not on a queue that others wait for: a large file takes time to read.
  private func complete(_ outcome: NetworkOutcome) {
    DispatchQueue.global(qos: .utility).async { [self] in
      do throws(TransferError) {
        if try !download.finish(outcome.response) { return again(fromStart: false) }
        // What is told of the end is told before the answer.
        download.afterTelling { [completion] in
          completion(NetworkOutcome(data: Data(), response: outcome.response, isAccepted: true))
        }
      } catch {
        completion(NetworkOutcome(error: NetworkError.transferFailed(error)))
      }
    }
  }
}
