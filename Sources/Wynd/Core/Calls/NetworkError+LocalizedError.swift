public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension NetworkError: LocalizedError {
  /// A sentence for people, without codes, and what to do. On Apple's platforms, the sentence for an error of URLSession
  /// is the system's own, in the user's language.
  public var errorDescription: String? { sentence + advice }

  private var sentence: String {
    // A log never asks for the text of an app's error, because that runs code of the app.
    if let text = ownText ?? shown?.sentence ?? wrongScheme { return text }
    #if !canImport(FoundationNetworking)
      // Without a text of URLSession, it would be one with a code. An error that this library makes has none.
      if let urlError, urlError.userInfo[NSLocalizedDescriptionKey] is String { return urlError.localizedDescription }
    #endif
    return summary
  }

  /// The wrapped error whose sentence people read. A `URLError` that a middleware threw takes precedence.
  private var shown: Self? {
    if case .middlewareError(let error as URLError, _) = self { return .urlError(error) }
    // What another request did not find, such as that of a renewal, is not what the person has asked for.
    if case .generalError(let error as Self) = self, error.isMistakeOfRequest { return nil }
    return inner
  }

  /// Whether the server rejected the request for another reason than a missing sign-in or permission.
  private var isMistakeOfRequest: Bool {
    guard let statusCode, 400..<500 ~= statusCode else { return false }
    return ![401, 403].contains(statusCode) && !shouldRetry
  }

  private var wrongScheme: String? {
    guard case .urlError(let error) = self, error.code == .unsupportedURL,
      let scheme = error.failingURL?.scheme?.lowercased(), !["http", "https"].contains(scheme)
    else { return nil }
    return "The URL is not valid: the scheme is \(scheme), not http or https."
  }

  /// The text of an error of the app or of its service, which people read in place of this library's.
  private var ownText: String? {
    var own = thrown
    // An error that the endpoint threw while it parsed the response. A log has those of this library.
    if case .undecodable(let error, _, _) = self, !(error is any NetworkLoggableError) { own = error }
    if let own = own as? NetworkError { return own.ownText }
    return (own as? any LocalizedError)?.errorDescription
  }

  private var advice: String {
    switch stopReason {
    case .notSafeToRepeat: " Please check before you send it again."
    // Whether an attempt that the deadline ended is safe to repeat is not known here.
    case .deadline: ""
    default: mayGoAway ? " Please try again later." : ""
    }
  }

  private var mayGoAway: Bool {
    // The author of that text has given the advice.
    if ownText != nil { return false }
    if let thrown = thrown as? any RetryableError { return thrown.shouldRetry }
    return inner?.mayGoAway ?? shouldRetry
  }

  /// What happened, in English.
  var summary: String {
    if case .invalidRequest(let reason) = self {
      let sentence = Self.oneLine(reason, 1_000)
      return "The request is invalid, and was not sent: \(sentence)" + (sentence.hasSuffix(".") ? "" : ".")
    }
    if isCancellation { return "The request was canceled." }
    if let wrongScheme { return wrongScheme }
    if let urlError { return NetworkErrorMeaning.of(urlError.code).sentence }
    return response.map { NetworkErrorMeaning.of($0).sentence } ?? NetworkErrorMeaning.other.sentence
  }
}
