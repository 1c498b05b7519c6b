#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  nonisolated extension URLRequest {
    /// The next request after a 3xx (RFC 9110 §15.4). After 301 and 302, POST becomes GET; after 303, every method but
    /// HEAD. A request that keeps its method keeps its body. Nil if Location is not an http or https URL, or if
    /// URLSession would send a secure cookie without TLS. `secretFields` are the fields that a client knows to be
    /// secret.
    func following(
      _ response: HTTPURLResponse, in configuration: URLSessionConfiguration, secretFields: Set<String> = []
    ) -> URLRequest? {
      guard let location = response.networkValue(of: "Location"),
        let target = URL.networkReference(location, relativeTo: response.url ?? url),
        target.host?.isEmpty == false,
        let scheme = target.scheme?.lowercased(), ["http", "https"].contains(scheme)
      else { return nil }
      // URLSession sends secure cookies over http, too. A redirect from https may have preceded this one.
      let sendsCookies = configuration.httpShouldSetCookies && httpShouldHandleCookies
      let cookies = sendsCookies && scheme == "http" ? configuration.httpCookieStorage?.cookies(for: target) : nil
      if cookies?.contains(where: \.isSecure) == true { return nil }
      var next = self
      next.url = target
      let becomesGET =
        switch response.statusCode {
        case ..<303: httpMethod == "POST"
        case 303: httpMethod != "HEAD"
        default: false
        }
      if becomesGET {
        next.httpMethod = "GET"
        next.httpBody = nil
        next.httpBodyStream = nil
        for name in allHTTPHeaderFields?.keys ?? [:].keys
        where name.lowercased().hasPrefix("content-") || name.lowercased() == "transfer-encoding" {
          next.setValue(nil, forHTTPHeaderField: name)
        }
      }
      return NetworkRedirect.request(
        next, after: self, additional: NetworkHeaders(configuration.httpAdditionalHeaders), secretFields: secretFields)
    }
  }
#endif
