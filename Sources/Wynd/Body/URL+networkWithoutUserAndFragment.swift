import Foundation

nonisolated extension URL {
  /// The URL without its fragment, which is not sent, and without the user name and password, which must not be stored
  /// or logged. The scheme is in lowercase, because URLSession may write it so in the URL of a response.
  var networkWithoutUserAndFragment: URL? {
    var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    parts?.user = nil
    parts?.password = nil
    parts?.fragment = nil
    let scheme = parts?.scheme?.lowercased()
    if parts?.scheme != scheme { parts?.scheme = scheme }
    return parts?.url
  }
}
