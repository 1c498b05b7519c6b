import Foundation

// MARK: What URLSession does with a URLCache by itself
//
// It serves GETs from it, also to another Range, and asks the delegate what to store. Left out: revalidation, Vary, and
// everything else that Wynd does not depend on.

extension URLSession {
  private static let end = "AppleModel.end"

  // [seen] openradar 20001985 (“NSURLCache ignores byte range request headers”): the key has no Range, and a 206 is stored.
  func stored(for request: URLRequest) -> (HTTPURLResponse, Data)? {
    guard canUseCache(request), !isReload(request), let url = request.url,
      let entry = values.urlCache?.cachedResponse(for: URLRequest(url: url)),
      let end = entry.userInfo?[Self.end] as? Date, end > Date(), let response = entry.response as? HTTPURLResponse
    else { return nil }
    return (response, entry.data)
  }

  /// What the delegate is asked about; nil if nothing is stored anyway.
  func proposal(_ response: HTTPURLResponse, _ data: Data, for request: URLRequest) -> CachedURLResponse? {
    let fields = response.value(forHTTPHeaderField: "Cache-Control")?.lowercased() ?? ""
    // [doc] urlsessiondatadelegate/urlsession(_:datatask:willcacheresponse:completionhandler:): a GET that was successful,
    // not forbidden by its headers, and not above about 5 % of the size of the disk cache (20 MB).
    guard canUseCache(request), !isReload(request) || values.answers.contains(.storesForReload),
      200..<300 ~= response.statusCode, data.count < 1_000_000, !fields.contains("no-"),
      let age = fields.components(separatedBy: "max-age=").dropFirst().first,
      let seconds = TimeInterval(age.prefix(while: \.isNumber))
    else { return nil }
    return CachedURLResponse(
      response: response, data: data, userInfo: [Self.end: Date() + seconds], storagePolicy: .allowed)
  }

  func store(_ chosen: CachedURLResponse, for request: URLRequest) {
    guard let url = request.url else { return }
    values.urlCache?.storeCachedResponse(chosen, for: URLRequest(url: url))
  }

  private func canUseCache(_ request: URLRequest) -> Bool {
    values.urlCache != nil && request.httpMethod ?? "GET" == "GET"
      && request.value(forHTTPHeaderField: "Cache-Control")?.lowercased().contains("no-") != true
  }

  // [doc] nsurlrequest/cachepolicy: the request's, or else the configuration's.
  private func isReload(_ request: URLRequest) -> Bool {
    [request.cachePolicy, values.requestCachePolicy].contains { $0 != .useProtocolCachePolicy }
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
