import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Collects the events of a call.
final class EventLog: @unchecked Sendable {
  private let lock = NSLock()
  private var list: [NetworkEvent] = []

  @Sendable func add(_ event: NetworkEvent) { lock.withLock { list.append(event) } }
  var events: [NetworkEvent] { lock.withLock { list } }

  var isOver: Bool { events.contains(where: \.isLast) }
  var gaveUp: RetryFailure.StopReason? {
    for case .gaveUp(let reason) in events.map(\.kind) { return reason }
    return nil
  }
  var delays: [Duration] {
    events.compactMap { if case .willRetry(let delay, _) = $0.kind { delay } else { nil } }
  }
}

extension NetworkEvent {
  var isLast: Bool {
    switch kind {
    case .succeeded, .gaveUp: true
    default: false
    }
  }
}

extension URLSession {
  /// The async form, with its error as a value. It never shares a budget with the process: a server of another test may have
  /// failed on the same port a moment ago.
  func result(
    of request: some NetworkRequestConvertible, maxRetries: Int? = nil, allowEmptyData: Bool = false,
    policy: RetryPolicy = .default
  ) async -> NetworkResult {
    var policy = policy
    if policy.budget == nil || policy.budget === RetryBudget.shared { policy.budget = RetryBudget() }
    do throws(NetworkError) {
      return .success(
        try await performNetworkRequest(
          request, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy))
    } catch {
      return .failure(error)
    }
  }
}

extension NetworkError {
  /// The caller cancelled.
  var isCancelled: Bool { if case .cancelled = self { true } else { false } }
}

#if canImport(FoundationNetworking)
  extension URLSession {
    /// Foundation has no public API for it.
    var isInvalidated: Bool {
      Mirror(reflecting: self).children.first { $0.label == "invalidated" }?.value as? Bool ?? false
    }
  }
#endif

extension Result {
  /// The caller cancelled.
  var isCancelled: Bool { (error as? NetworkError)?.isCancelled == true }
  var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
