import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The outcome of one attempt, as URLSession and what is around it report it.
nonisolated struct NetworkOutcome: Sendable {
  /// What ended the attempt.
  enum Cause: Sendable {
    /// The response, or an error.
    case response
    /// The deadline of the call.
    case deadline
    /// The caller.
    case cancellation
  }

  var data: Data?
  var response: URLResponse?
  var error: (any Swift.Error)?
  var endedBy = Cause.response
  /// Whether the error or the response comes from the last server after a redirect.
  var hasFollowedRedirect = false
  /// What has become of the requests of the attempt, whatever the error says; nil if only that says it. A middleware may
  /// send several requests in one attempt: one that may have been applied is enough.
  var delivery: NetworkDelivery?
  /// What a middleware or a transfer made of the response: a success, whatever its status code.
  var accepted: NetworkBox<NetworkResponse<Data>>?
  /// Whether the failed attempt transferred data that does not have to be transferred again.
  var hasProgressed = false

  static var timedOut: Self { Self(error: URLError(.timedOut)) }
  static var deadline: Self { Self(error: URLError(.timedOut), endedBy: .deadline) }
  static var cancelled: Self { Self(error: NetworkError.cancelled, endedBy: .cancellation) }
  static func invalid(_ reason: String) -> Self { Self(error: NetworkError.invalidRequest(reason: reason)) }

  /// Notes what is known of the request. `mayHaveSent`: a server may have received it whole.
  mutating func note(mayHaveSent: Bool, hasFollowedRedirect: Bool) {
    self.hasFollowedRedirect = hasFollowedRedirect
    // A POST may have been applied before the redirect. If something was sent, no error proves the opposite.
    if hasFollowedRedirect || (mayHaveSent && error != nil) { delivery = .mayHaveBeenApplied }
  }

  /// The response if it is a success, otherwise the error. The response to a HEAD never has a body.
  func result(isHead: Bool, allowEmptyData: Bool) -> Swift.Result<NetworkResponse<Data>, NetworkError> {
    if let error { return .failure(Self.networkError(error)) }
    if let accepted { return .success(accepted.value) }
    guard let response else { return .failure(.noResponse) }
    guard let http = response as? HTTPURLResponse else { return .failure(.invalidResponseType(response)) }
    if http.statusCode >= 400 { return .failure(.endpointError(http, data)) }
    let isBodyExpected = 200..<300 ~= http.statusCode && ![204, 205].contains(http.statusCode)
    let isBodyMissing = data?.isEmpty != false
    let isBodyRequired = isBodyExpected && !isHead && !allowEmptyData
    if isBodyMissing && isBodyRequired { return .failure(.noResponseData(http)) }
    return .success(NetworkResponse(data: data ?? Data(), response: http))
  }

  private static func networkError(_ error: any Swift.Error) -> NetworkError {
    if let error = error as? NetworkError { return error }
    if let error = urlError(error) { return .urlError(error) }
    return .generalError(error)
  }

  /// The `URLError` with the same meaning, because the retry policy knows no other errors. On Apple's platforms,
  /// URLSession reports errors of other domains too.
  static func urlError(_ error: any Swift.Error) -> URLError? {
    if let error = error as? URLError { return error }
    let original = error as NSError
    let code: URLError.Code? =
      switch (original.domain, original.code) {
      case ("kCFErrorDomainCFNetwork", 303): .cannotParseResponse
      // There is no connection through the proxy, so no server received anything.
      case ("kCFErrorDomainCFNetwork", 306), ("kCFErrorDomainCFNetwork", 310), ("kCFErrorDomainCFNetwork", 311):
        .cannotConnectToHost
      case ("kCFErrorDomainCFNetwork", -3000 ... -900): URLError.Code(rawValue: original.code)
      case (NSPOSIXErrorDomain, let code): posixCode(code)
      default: nil
      }
    return code.map { URLError($0, causedBy: original, original.userInfo) }
  }

  private static func posixCode(_ code: Int) -> URLError.Code? {
    switch POSIXErrorCode(rawValue: Int32(clamping: code)) {
    case .ECONNABORTED, .ECONNRESET, .ENOTCONN, .EPIPE: .networkConnectionLost
    case .ECONNREFUSED: .cannotConnectToHost
    // As when a VPN or Wi-Fi goes away.
    case .ENETDOWN, .ENETUNREACH, .EHOSTDOWN, .EHOSTUNREACH: .notConnectedToInternet
    case .ETIMEDOUT: .timedOut
    case .EPROTO: .cannotParseResponse
    default: nil
    }
  }
}

nonisolated extension URLError {
  /// An error with another code, and the original one as the underlying error.
  init(_ code: Code, causedBy original: any Swift.Error, _ userInfo: [String: Any]) {
    var userInfo = userInfo
    userInfo[NSUnderlyingErrorKey] = original
    self.init(code, userInfo: userInfo)
  }
}
