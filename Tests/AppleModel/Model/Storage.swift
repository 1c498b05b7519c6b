import Foundation

/// What URLSession does with a URLCache by itself: it serves GETs from it, also to another Range.
///
/// Left out: revalidation, Vary, and everything else that Wynd does not depend on.
final class ResponseMemory: @unchecked Sendable {
  private var entries: [URL: (response: HTTPURLResponse, data: Data, end: Date)] = [:]
  private let lock = NSLock()

  // [seen] openradar 20001985 (“NSURLCache ignores byte range request headers”): the key has no Range, and a 206 is stored.
  func response(to request: URLRequest, _ values: ConfigurationValues) -> (HTTPURLResponse, Data)? {
    guard isUsed(by: request, values), let url = request.url else { return nil }
    let entry = lock.withLock { entries[url] }
    return entry.flatMap { $0.end > Date() ? ($0.response, $0.data) : nil }
  }

  func store(_ response: HTTPURLResponse, _ data: Data, for request: URLRequest, _ values: ConfigurationValues) {
    let fields = response.value(forHTTPHeaderField: "Cache-Control")?.lowercased() ?? ""
    // [doc] urlsessiondatadelegate/urlsession(_:datatask:willcacheresponse:completionhandler:): a GET that was successful,
    // not forbidden by its headers, and not above about 5 % of the size of the disk cache (20 MB).
    guard isUsed(by: request, values), let url = request.url, 200..<300 ~= response.statusCode, data.count < 1_000_000,
      !fields.contains("no-"), let age = fields.components(separatedBy: "max-age=").dropFirst().first,
      let seconds = TimeInterval(age.prefix(while: \.isNumber))
    else { return }
    lock.withLock { entries[url] = (response, data, Date() + seconds) }
  }

  // [doc] nsurlrequest/cachepolicy: the request's, or else the configuration's.
  private func isUsed(by request: URLRequest, _ values: ConfigurationValues) -> Bool {
    let policies = [request.cachePolicy, values.requestCachePolicy]
    return values.urlCache != nil && request.httpMethod ?? "GET" == "GET"
      && policies.allSatisfy { $0 == .useProtocolCachePolicy }
      && request.value(forHTTPHeaderField: "Cache-Control")?.lowercased().contains("no-") != true
  }
}

// MARK: Cookies. [doc] urlsessionconfiguration/httpcookiestorage, …/httpshouldsetcookies, urlrequest/httpshouldhandlecookies

extension URLSession {
  /// Those whose domain, path and Secure attribute match (RFC 6265 §5.4); the storage of FoundationNetworking looks at the
  /// domain only.
  func cookies(for request: URLRequest) -> String? {
    guard values.httpShouldSetCookies, request.httpShouldHandleCookies, let url = request.url,
      let all = values.httpCookieStorage?.cookies(for: url)
    else { return nil }
    let path = url.path.isEmpty ? "/" : url.path
    let found = all.filter { cookie in
      let isBelow = path == cookie.path || path.hasPrefix(cookie.path.hasSuffix("/") ? cookie.path : cookie.path + "/")
      return isBelow && (!cookie.isSecure || url.scheme?.lowercased() == "https")
    }
    return found.isEmpty ? nil : found.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
  }

  // [doc] A redirect's cookies are stored before it is followed.
  func store(_ cookies: [String], from request: URLRequest) {
    guard request.httpShouldHandleCookies, values.httpCookieAcceptPolicy != .never, let url = request.url,
      let storage = values.httpCookieStorage
    else { return }
    for cookie in cookies {
      let parsed = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": cookie], for: url)
      storage.setCookies(parsed, for: url, mainDocumentURL: nil)
    }
  }
}
