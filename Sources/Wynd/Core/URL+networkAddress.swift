import Foundation

// This extends a type of Foundation, so the name must not collide with one of the app.
nonisolated extension URL {
  /// The URL without its fragment, which is not sent, and without the user name and password, which must not be stored
  /// or logged.
  var networkAddress: URL? {
    var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    parts?.user = nil
    parts?.password = nil
    parts?.fragment = nil
    return parts?.url
  }
}
