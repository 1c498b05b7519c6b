// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Of Foundation, what sends requests. See Foundation.swift.
import ObjectiveC
import Dispatch

public class NSURLRequest: NSObject, @unchecked Sendable {}
// A struct, so that the compiler sees what changes a copy. In the signature of a delegate's method it is bridged.
public struct URLRequest: @unchecked Sendable, _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSURLRequest { NSURLRequest() }
  public static func _forceBridgeFromObjectiveC(_ source: NSURLRequest, result: inout URLRequest?) {}
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSURLRequest, result: inout URLRequest?) -> Bool {
    false
  }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSURLRequest?) -> URLRequest { fatalError() }
  public enum CachePolicy: UInt, Sendable {
    case useProtocolCachePolicy, reloadIgnoringLocalCacheData, reloadIgnoringLocalAndRemoteCacheData
    case returnCacheDataElseLoad, returnCacheDataDontLoad, reloadRevalidatingCacheData
  }
  public var cachePolicy: CachePolicy {
    get { .useProtocolCachePolicy }
    set {}
  }
  public init(url: URL) {}
  public var url: URL?
  public var httpMethod: String?
  public var httpBody: Data?
  public var httpBodyStream: InputStream?
  public var timeoutInterval: TimeInterval = 60
  public var allHTTPHeaderFields: [String: String]?
  public func value(forHTTPHeaderField name: String) -> String? { nil }
  public mutating func setValue(_ value: String?, forHTTPHeaderField name: String) {}
  public mutating func addValue(_ value: String, forHTTPHeaderField name: String) {}
}
public final class CachedURLResponse: NSObject, @unchecked Sendable {}
open class NSCoder: NSObject, @unchecked Sendable {}
open class URLResponse: NSObject, @unchecked Sendable {
  public override init() { super.init() }
  public required init?(coder: NSCoder) { super.init() }
  open var url: URL? { nil }
  open var expectedContentLength: Int64 { 0 }
}
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
  open var allHeaderFields: [AnyHashable: Any] { [:] }
  public init?(url: URL, statusCode: Int, httpVersion: String?, headerFields: [String: String]?) { super.init() }
  public required init?(coder: NSCoder) { super.init(coder: coder) }
  open var statusCode: Int { 0 }
  open func value(forHTTPHeaderField name: String) -> String? { nil }
}
open class URLSessionConfiguration: NSObject, @unchecked Sendable {
  open var identifier: String? { nil }
  open var timeoutIntervalForRequest: TimeInterval = 60
  open var httpAdditionalHeaders: [AnyHashable: Any]?
}
open class URLSession: NSObject, @unchecked Sendable {
  open var configuration: URLSessionConfiguration { fatalError() }
  open class var shared: URLSession { fatalError() }
  open var delegate: (any URLSessionDelegate)? { nil }
  open var delegateQueue: OperationQueue { fatalError() }
  open func dataTask(
    with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDataTask { fatalError() }
  open func uploadTask(
    with request: URLRequest, fromFile file: URL,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionUploadTask { fatalError() }
  open func dataTask(
    with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDataTask { fatalError() }
  open func dataTask(with request: URLRequest) -> URLSessionDataTask { fatalError() }
  public convenience init(
    configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue?
  ) { fatalError() }
  open func finishTasksAndInvalidate() {}
  open func uploadTask(with request: URLRequest, fromFile file: URL) -> URLSessionUploadTask { fatalError() }
  open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask { fatalError() }
  @objc public enum ResponseDisposition: Int, Sendable { case cancel, allow, becomeDownload, becomeStream }
}
open class URLSessionTask: NSObject, @unchecked Sendable {
  open var delegate: (any URLSessionTaskDelegate)?
  open var countOfBytesSent: Int64 { 0 }
  open var countOfBytesReceived: Int64 { 0 }
  open var countOfBytesExpectedToReceive: Int64 { 0 }
  open var response: URLResponse? { nil }
  open func resume() {}
  open func suspend() {}
  open func cancel() {}
}
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}
@objc public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
  @objc optional func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
}
open class URLCredential: NSObject, @unchecked Sendable {}
open class URLProtectionSpace: NSObject, @unchecked Sendable { open var authenticationMethod: String { "" } }
open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
  open var failureResponse: URLResponse? { nil }
  open var protectionSpace: URLProtectionSpace { fatalError() }
}
public let NSURLAuthenticationMethodServerTrust = ""
public let NSURLAuthenticationMethodClientCertificate = ""
public let NSURLAuthenticationMethodNTLM = ""
public let NSURLAuthenticationMethodNegotiate = ""
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
  open var transactionMetrics: [URLSessionTaskTransactionMetrics] { [] }
}
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
  open var requestStartDate: Date? { nil }
  open var secureConnectionStartDate: Date? { nil }
  open var secureConnectionEndDate: Date? { nil }
}
extension URLSession {
  @objc public enum AuthChallengeDisposition: Int, Sendable {
    case useCredential, performDefaultHandling, cancelAuthenticationChallenge
  }
  @objc public enum DelayedRequestDisposition: Int, Sendable { case continueLoading, useNewRequest, cancel }
}
@objc public protocol URLSessionTaskDelegate: URLSessionDelegate {
  @objc optional func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
  @objc optional func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)
  @objc optional func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)
  @objc optional func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64)
  @objc optional func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
  @objc optional func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask)
  @objc optional func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)
  @objc optional func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void)
  @objc optional func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
}

public struct URLError: Error, Sendable {
  public init(_ code: Code, userInfo: [String: Any] = [:]) {}
  public var code: Code { Code(rawValue: 0) }
  public var userInfo: [String: Any] { [:] }
  public var failingURL: URL? { nil }
  public enum NetworkUnavailableReason: Int, Sendable { case cellular, expensive, constrained }
  public var networkUnavailableReason: NetworkUnavailableReason? { nil }
  public struct Code: RawRepresentable, Hashable, Sendable {
    public var rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let unknown = Code(rawValue: -1)
    public static let cancelled = Code(rawValue: -999)
    public static let badURL = Code(rawValue: -1000)
    public static let timedOut = Code(rawValue: -1001)
    public static let userAuthenticationRequired = Code(rawValue: -1013)
    public static let unsupportedURL = Code(rawValue: -1002)
    public static let cannotFindHost = Code(rawValue: -1003)
    public static let cannotConnectToHost = Code(rawValue: -1004)
    public static let networkConnectionLost = Code(rawValue: -1005)
    public static let dnsLookupFailed = Code(rawValue: -1006)
    public static let httpTooManyRedirects = Code(rawValue: -1007)
    public static let requestBodyStreamExhausted = Code(rawValue: -1021)
    public static let notConnectedToInternet = Code(rawValue: -1009)
    public static let resourceUnavailable = Code(rawValue: -1008)
    public static let badServerResponse = Code(rawValue: -1011)
    public static let cannotDecodeRawData = Code(rawValue: -1015)
    public static let cannotDecodeContentData = Code(rawValue: -1016)
    public static let cannotParseResponse = Code(rawValue: -1017)
    public static let dataLengthExceedsMaximum = Code(rawValue: -1103)
    public static let internationalRoamingOff = Code(rawValue: -1018)
    public static let callIsActive = Code(rawValue: -1019)
    public static let dataNotAllowed = Code(rawValue: -1020)
    public static let secureConnectionFailed = Code(rawValue: -1200)
    public static let serverCertificateHasBadDate = Code(rawValue: -1201)
    public static let userCancelledAuthentication = Code(rawValue: -1012)
    public static let serverCertificateUntrusted = Code(rawValue: -1202)
    public static let serverCertificateHasUnknownRoot = Code(rawValue: -1203)
    public static let serverCertificateNotYetValid = Code(rawValue: -1204)
    public static let clientCertificateRejected = Code(rawValue: -1205)
    public static let clientCertificateRequired = Code(rawValue: -1206)
  }
}
@objc public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
  @objc optional func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void)
  @objc optional func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void)
  // And `didReceive data:`, which needs a Data that Objective-C knows. That it is called is tested on Linux.
}
