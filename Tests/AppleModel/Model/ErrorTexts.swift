import Foundation

extension URLError {
  /// The text of an error that CFNetwork makes, in English ([seen] in many public reports). It stands in `userInfo`, so a
  /// `URLError` that is made in Swift has none, and its `localizedDescription` is a code.
  var systemText: String {
    switch code {
    case .cancelled: "cancelled"
    case .badURL: "bad URL"
    case .timedOut: "The request timed out."
    case .unsupportedURL: "unsupported URL"
    case .cannotFindHost: "A server with the specified hostname could not be found."
    case .cannotConnectToHost: "Could not connect to the server."
    case .networkConnectionLost: "The network connection was lost."
    case .httpTooManyRedirects: "too many HTTP redirects"
    case .resourceUnavailable: "resource unavailable"
    case .notConnectedToInternet: "The Internet connection appears to be offline."
    case .cannotDecodeRawData: "cannot decode raw data"
    case .cannotParseResponse: "cannot parse response"
    case .fileDoesNotExist: "The requested URL was not found on this server."
    case .dataLengthExceedsMaximum: "resource exceeds maximum size"
    case .requestBodyStreamExhausted: "request body stream exhausted"
    case .secureConnectionFailed:
      "An SSL error has occurred and a secure connection to the server cannot be made."
    default: "The operation couldn’t be completed. (kCFErrorDomainCFNetwork error \(errorCode).)"
    }
  }
}
