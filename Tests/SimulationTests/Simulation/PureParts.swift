import Foundation

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Pure rules, each as a function whose time can be measured.
public enum PureParts {
  /// A name, and the rule applied once.
  public typealias Part = (name: String, run: () -> Void)

  /// The pure rules of `Core`.
  public static func all() -> [Part] {
    var responses = Responses()
    guard let url = URL(string: "http://rules.example/items?page=2"), let good = responses.response(200),
      let busy = responses.response(503), let limited = responses.response(429, retryAfter: 7)
    else { return [] }
    func response(_ field: String, _ value: String) -> HTTPURLResponse {
      HTTPURLResponse(url: url, statusCode: 503, httpVersion: "HTTP/1.1", headerFields: [field: value]) ?? busy
    }
    let now = Date(timeIntervalSince1970: 784_111_777)
    let (policy, queue) = (RetryPolicy(), OperationQueue())
    let rule = RetryRule(policy)
    let request = URLRequest(url: url)
    var order = request
    order.httpMethod = "POST"
    let call = RetryCallState(attempts: 1)
    let outcome = NetworkOutcome(data: Data([1]), response: good)
    let failure = NetworkError.endpointError(busy, nil)
    let limitedFailure = NetworkError.endpointError(limited, nil)
    let lost = NetworkError.urlError(URLError(.networkConnectionLost))
    let transport = SimulatedTransport { _, completion in completion(outcome) }
    let plan = NetworkCallPlan(request, policy: policy, allowEmptyData: false)
    var parts: [Part] = [
      (
        "a whole call without a network",
        {
          _ = RetryLoop(plan, on: transport).start(on: queue) { _ in }
        }
      ),
      ("decision: 200", { _ = outcome.result(isHead: false, allowEmptyData: false) }),
      ("decision: 503", { _ = rule.decision(failure, request, call, verdict: nil, now: now, random: 0.5) }),
      (
        "decision: 429, Retry-After: 7",
        { _ = rule.decision(limitedFailure, request, call, verdict: nil, now: now, random: 0.5) }
      ),
      ("decision: connection lost", { _ = rule.decision(lost, request, call, verdict: nil, now: now, random: 0.5) }),
      ("safety: POST, 503", { [order] in _ = RepeatSafety(of: order, isReadOnly: false) }),
      ("backoff", { _ = rule.backoff.delay(retry: 3, random: 0.5) }),
      ("origin of a URL", { _ = NetworkOrigin(url) }),
      ("description of an error", { _ = lost.description }),
    ]
    for value in [
      "120", "Sun, 06 Nov 1994 08:50:37 GMT", "Sunday, 06-Nov-94 08:50:37 GMT", "Sun Nov  6 08:50:37 1994",
    ] {
      let response = response("Retry-After", value)
      parts.append(("Retry-After: \(value)", { _ = NetworkRetryAfter.wait(asked: response, now: now) }))
    }
    return parts
  }
}
