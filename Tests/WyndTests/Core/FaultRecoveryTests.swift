import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Every fault with every kind of request: a request that is safe to repeat succeeds with the third send, any other is sent
/// once and reports the reason.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct FaultRecoveryTests {
  enum Fault: String, CaseIterable, Sendable {
    case reset, close, resetInBody, truncated, truncatedChunk, brokenChunk, garbage, badGzip, hang, stall
    case s500, s502, s503, s504, s408, s429, s425, s421

    var response: ScriptedResponse {
      switch self {
      case .reset: .reset
      case .close: .close
      case .resetInBody: .resetInBody
      case .truncated: .truncated
      case .truncatedChunk: .truncatedChunk
      case .brokenChunk: .brokenChunk
      case .garbage: .garbage
      case .badGzip: .badGzip
      case .hang: .hang
      case .stall: .stall
      default: .status(Int(rawValue.dropFirst()) ?? 0, body: "not now")
      }
    }

    /// The attempt ends by its time-out. Only then the time-out is short: the response that follows has to come in time on a
    /// busy machine too.
    var isSilence: Bool { self == .hang || self == .stall }

    /// The server says that it did not process the request.
    var isRefusal: Bool { self == .s429 || self == .s425 || self == .s421 }
  }

  enum Kind: String, CaseIterable, Sendable {
    case get, put, post, postWithKey

    func request(_ url: URL, timeout: TimeInterval) -> URLRequest {
      var request = URLRequest(url: url)
      request.timeoutInterval = timeout
      if self == .get { return request }
      request.httpMethod = self == .put ? "PUT" : "POST"
      request.httpBody = Data("the body".utf8)
      if self == .postWithKey { request.setValue("\"k-1\"", forHTTPHeaderField: "Idempotency-Key") }
      return request
    }
  }

  @Test(arguments: Fault.allCases, Kind.allCases)
  func retriesIdempotentRequestsAndSendsOthersOnce(_ fault: Fault, _ kind: Kind) async throws {
    // URLSession takes the end of the connection for the last chunk there.
    if isOnApplePlatforms, fault == .truncatedChunk { return }
    let server = try LoopbackServer(script: fault.response, fault.response, .ok("the whole body"))
    let session = URLSession(configuration: .default)
    defer { session.finishTasksAndInvalidate() }
    let log = EventLog()
    let policy = RetryPolicy(backoff: .immediate, budget: RetryBudget(), onEvent: log.add)
    let request = kind.request(server.url(), timeout: fault.isSilence ? 1.5 : 60)
    let result = await session.result(of: request, policy: policy)

    if kind != .post || fault.isRefusal {
      #expect(try result.get().text == "the whole body")
      // A busy machine may let the good response time out.
      #expect(fault.isSilence ? server.requests.count >= 3 : server.requests.count == 3)
      #expect(Set(server.requests.map(\.text)) == [kind == .get ? "" : "the body"])
      #expect(Set(server.values(of: "Idempotency-Key")) == [kind == .postWithKey ? "\"k-1\"" : nil])
    } else {
      #expect(throws: NetworkError.self) { try result.get() }
      #expect(server.requests.count == 1)
      #expect(log.gaveUp == .notSafeToRepeat(method: "POST"))
    }
  }
}
