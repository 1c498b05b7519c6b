import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// A call that ends with a 404 after two responses with 503 fails with `.endpointError`, like one that gets the 404 at
// once, so that a `switch` over the cases does not depend on earlier attempts. The cases have no place for the attempts,
// which therefore travel with the response or the `URLError`.
nonisolated extension NetworkError {
  /// The same error, with every attempt of its call.
  func attaching(_ attempts: [NetworkAttempt]) -> NetworkError {
    func retried(_ response: HTTPURLResponse) -> HTTPURLResponse {
      NetworkRetriedResponse(response, attempts) ?? response
    }
    switch self {
    case .urlError(let error):
      let userInfo = error.userInfo.merging([Self.attemptsKey: NetworkAttempts(attempts)]) { $1 }
      return .urlError(URLError(error.code, userInfo: userInfo))
    case .endpointError(let response, let data): return .endpointError(retried(response), data)
    case .noResponseData(let response): return .noResponseData(retried(response))
    case .undecodable(let error, let response, let data): return .undecodable(error, retried(response), data)
    case .serviceError(let error, let response, let data): return .serviceError(error, retried(response), data)
    case .mappedError(let error, let cause): return .mappedError(error, cause.attaching(attempts))
    default: return self
    }
  }

  var attachedAttempts: [NetworkAttempt] {
    switch self {
    case .mappedError(_, let cause): cause.attempts
    case .urlError(let error): (error.userInfo[Self.attemptsKey] as? NetworkAttempts)?.attempts ?? []
    case .endpointError(let response, _), .noResponseData(let response), .undecodable(_, let response, _),
      .serviceError(_, let response, _):
      (response as? NetworkRetriedResponse)?.attempts ?? []
    // A response in one of these is that of another call, such as the renewal of a credential.
    default: []
    }
  }

  private static var attemptsKey: String { "Wynd.attempts" }
}

/// The attempts in a `userInfo`. A class, because that of a struct would be printed with all that they contain.
nonisolated final class NetworkAttempts: Sendable {
  let attempts: [NetworkAttempt]
  init(_ attempts: [NetworkAttempt]) { self.attempts = attempts }
}

/// The response to the last attempt of a call that was retried.
// Unchecked, because its class is not final. Neither changes after its initialization.
nonisolated private final class NetworkRetriedResponse: HTTPURLResponse, @unchecked Sendable {
  let attempts: [NetworkAttempt]

  init?(_ response: HTTPURLResponse, _ attempts: [NetworkAttempt]) {
    guard let url = response.url else { return nil }
    self.attempts = attempts
    let fields = response.allHeaderFields as? [String: String]
    super.init(url: url, statusCode: response.statusCode, httpVersion: nil, headerFields: fields)
  }

  required init?(coder: NSCoder) {
    attempts = []
    super.init(coder: coder)
  }
}
