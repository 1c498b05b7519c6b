// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// A model of URLSession as it is on Apple's platforms, for Linux. It shows what the sources say of it and no more.
//
// Each rule has its source beside it: [doc] Apple's documentation (developer.apple.com/documentation/foundation/…), [hdr] a
// comment in Apple's NSURLSession.h, [note] a technical note or a forum post of Apple's, [seen] a measurement that others
// published, [assumed] what is published nowhere. TLS, HTTP/2, proxies, background transfers and download tasks are left out.
//
// The module has the names of Foundation. Values (requests, responses, errors, cookies) are the real ones; the session, its
// configuration, its tasks and its delegates are the model's.
@_exported import Foundation
@_exported import FoundationNetworking

/// What a configuration holds. A class with these properties is Apple's spelling; see `URLSessionConfiguration`.
public struct ConfigurationValues {
  var identifier: String?
  /// The device of the session from which the configuration was read: what happens to it happens to all its sessions.
  var device: SimulatedDevice?
  // [doc] urlsessionconfiguration/timeoutintervalforrequest: 60 seconds; …forresource: 7 days.
  public var timeoutIntervalForRequest: TimeInterval = 60
  public var timeoutIntervalForResource: TimeInterval = 604_800
  public var httpAdditionalHeaders: [AnyHashable: Any]?
  // [doc] urlsessionconfiguration/httpmaximumconnectionsperhost: 6 in macOS; 4 in early versions of iOS.
  public var httpMaximumConnectionsPerHost = 6
  public var waitsForConnectivity = false
  public var httpShouldSetCookies = true
  public var httpCookieAcceptPolicy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
  public var httpCookieStorage: HTTPCookieStorage?
  public var urlCache: URLCache?
  public var requestCachePolicy = URLRequest.CachePolicy.useProtocolCachePolicy
  // [hdr] usesClassicLoadingMode: “Defaults to YES”. iOS 18.4.
  public var usesClassicLoadingMode = true

  // MARK: What Apple's configuration does not have
  public var answers = ModelAnswer.ofProcess
  /// The error of a connection that is lost, in place of -1005. [seen] Errors of POSIX (50 to 65) and of CFNetwork stand at
  /// the top when Wi-Fi, a VPN or a proxy goes away.
  public var errorOfLoss: NSError?
}

@dynamicMemberLookup
public final class URLSessionConfiguration: NSObject, @unchecked Sendable {
  var values: ConfigurationValues

  init(_ values: ConfigurationValues) { self.values = values }

  /// Nil unless it is that of background sessions.
  public var identifier: String? { values.identifier }

  public subscript<Value>(dynamicMember property: WritableKeyPath<ConfigurationValues, Value>) -> Value {
    get { values[keyPath: property] }
    set { values[keyPath: property] = newValue }
  }

  // [doc] httpcookiestorage: one storage for all sessions of an app, except ephemeral ones, which have their own.
  private static let shared = FoundationNetworking.URLSessionConfiguration.ephemeral

  public static var `default`: URLSessionConfiguration { make(shared) }
  public static var ephemeral: URLSessionConfiguration { make(.ephemeral) }
  public static func background(withIdentifier identifier: String) -> URLSessionConfiguration {
    let configuration = make(shared)
    configuration.values.identifier = identifier
    return configuration
  }

  private static func make(_ storages: FoundationNetworking.URLSessionConfiguration) -> URLSessionConfiguration {
    // One for each configuration, where Apple's default ones share a cache: ports of servers are used again.
    let cache = URLCache(memoryCapacity: 20_000_000, diskCapacity: 0, diskPath: nil)
    return URLSessionConfiguration(
      ConfigurationValues(httpCookieStorage: storages.httpCookieStorage, urlCache: cache))
  }
}

// [doc] urlerror/networkunavailablereason-swift.property
extension URLError {
  public enum NetworkUnavailableReason: Int, Sendable { case cellular, expensive, constrained }
  public var networkUnavailableReason: NetworkUnavailableReason? {
    (userInfo["NSURLErrorNetworkUnavailableReasonKey"] as? Int).flatMap(NetworkUnavailableReason.init(rawValue:))
  }
}

extension URLError {
  /// As URLSession makes it: with the URL, and the error of CFNetwork that it comes from.
  ///
  /// [seen] SDWebImage#1765, forums 724950: `NSUnderlyingError` is a `kCFErrorDomainCFNetwork` error of the same code, both hold
  /// `_kCFStreamErrorDomainKey` and `_kCFStreamErrorCodeKey`, and the text of the URL stands under a key of its own.
  func withDetails(of url: URL?) -> URLError {
    var info = userInfo
    let stream = info.filter { $0.key.hasPrefix("_kCFStream") }
    info[NSURLErrorFailingURLErrorKey] = url
    info[NSURLErrorFailingURLStringErrorKey] = url?.absoluteString
    info[NSLocalizedDescriptionKey] = systemText
    // [seen] A cancellation has no underlying error: swift-openapi-urlsession#45.
    if code != .cancelled {
      info[NSUnderlyingErrorKey] = NSError(domain: "kCFErrorDomainCFNetwork", code: errorCode, userInfo: stream)
    }
    return URLError(code, userInfo: info)
  }

  /// Of a socket: `domain` 1 is POSIX (53 ECONNABORTED, 54 ECONNRESET, 57 ENOTCONN), 4 is HTTP (-4: the connection ended).
  static func lost(_ code: Int, domain: Int, _ error: Code = .networkConnectionLost) -> URLError {
    URLError(error, userInfo: ["_kCFStreamErrorDomainKey": domain, "_kCFStreamErrorCodeKey": code])
  }
}

/// What is an Objective-C exception on Apple's platforms ends the process: Swift cannot catch it.
func raise(_ exception: String) -> Never {
  fatalError("*** Terminating app due to uncaught exception 'NSGenericException', reason: '\(exception)'")
}
