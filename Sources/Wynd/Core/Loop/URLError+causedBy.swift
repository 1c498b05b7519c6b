import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension URLError {
  /// An error with another code, and the original one as the underlying error.
  init(_ code: Code, causedBy original: any Swift.Error, _ userInfo: [String: Any]) {
    var userInfo = userInfo
    userInfo[NSUnderlyingErrorKey] = original
    self.init(code, userInfo: userInfo)
  }
}
