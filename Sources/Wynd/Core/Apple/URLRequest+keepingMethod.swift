#if !canImport(FoundationNetworking)
  import Foundation

  nonisolated extension URLRequest {
    /// The request after a redirect. URLSession makes a GET of PUT, PATCH and DELETE after 301 and 302, which then seems
    /// to succeed. They keep their method and body, as on Linux. Nil if the body is not in memory: the redirect is the
    /// result then.
    func keepingMethod(
      of previous: URLRequest, after response: HTTPURLResponse, hasOtherBody: Bool
    ) -> URLRequest? {
      let isMoved = [301, 302].contains(response.statusCode)
      guard isMoved, ["PUT", "PATCH", "DELETE"].contains(previous.networkMethod), networkMethod == "GET" else {
        return self
      }
      if hasOtherBody || previous.httpBodyStream != nil { return nil }
      var kept = self
      kept.httpMethod = previous.httpMethod
      kept.httpBody = previous.httpBody
      for (name, value) in previous.allHTTPHeaderFields ?? [:] where name.lowercased().hasPrefix("content-") {
        kept.setValue(value, forHTTPHeaderField: name)
      }
      return kept
    }
  }
#endif
