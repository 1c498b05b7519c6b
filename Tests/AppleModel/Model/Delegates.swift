// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
import Foundation

/// Finds out whether a delegate implements an optional method: the default implementation notes that it was called instead.
final class OptionalMethod {
  private static let key = "AppleModel.OptionalMethod"
  private let delegate: any URLSessionDelegate
  private var isMissing = false

  private init(_ delegate: any URLSessionDelegate) { self.delegate = delegate }

  static func isImplemented(by delegate: any URLSessionDelegate, _ call: () -> Void) -> Bool {
    let method = OptionalMethod(delegate)
    let outer = Thread.current.threadDictionary[key]
    Thread.current.threadDictionary[key] = method
    call()
    Thread.current.threadDictionary[key] = outer
    return !method.isMissing
  }

  /// Called by the default implementations. False: it is not the model that called, but a delegate that asks another.
  @discardableResult static func isMissing(in delegate: any URLSessionDelegate) -> Bool {
    guard let method = Thread.current.threadDictionary[key] as? OptionalMethod, method.delegate === delegate
    else { return false }
    method.isMissing = true
    return true
  }
}

// [hdr] The protocols inherit NSObjectProtocol and Sendable; every completion handler is NS_SWIFT_SENDABLE.
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)
  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
}

public protocol URLSessionTaskDelegate: URLSessionDelegate {
  func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask)
  func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64)
  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
  // [doc] Called for a task of a background session with an `earliestBeginDate` only, so the model never calls it.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void)
}

public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void)
  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void)
}

// MARK: What stands for a method that a delegate does not implement

extension URLSessionDelegate {
  public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}
  public func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    if !OptionalMethod.isMissing(in: self) { completionHandler(.performDefaultHandling, nil) }
  }
}

extension URLSessionTaskDelegate {
  public func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {}
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
  ) {
    if !OptionalMethod.isMissing(in: self) { completionHandler(.continueLoading, nil) }
  }
  public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
    OptionalMethod.isMissing(in: self)
  }
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    if !OptionalMethod.isMissing(in: self) { completionHandler(request) }
  }
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    if !OptionalMethod.isMissing(in: self) { completionHandler(.performDefaultHandling, nil) }
  }
  public func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    if !OptionalMethod.isMissing(in: self) { completionHandler(nil) }
  }
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) { OptionalMethod.isMissing(in: self) }
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) { OptionalMethod.isMissing(in: self) }
  public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    OptionalMethod.isMissing(in: self)
  }
}

extension URLSessionDataDelegate {
  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if !OptionalMethod.isMissing(in: self) { completionHandler(.allow) }
  }
  public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    OptionalMethod.isMissing(in: self)
  }
  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
  ) {
    if !OptionalMethod.isMissing(in: self) { completionHandler(proposed) }
  }
}

/// Makes `delegate.urlSession?(…)` compile, which is the spelling on Apple's platforms, and its result nil if the method is
/// not implemented.
public struct OptionalTaskMethods {
  let delegate: any URLSessionTaskDelegate

  @discardableResult public func callAsFunction(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) -> Void? {
    let isImplemented = OptionalMethod.isImplemented(by: delegate) {
      delegate.urlSession(
        session, task: task, willPerformHTTPRedirection: response, newRequest: request,
        completionHandler: completionHandler)
    }
    return isImplemented ? () : nil
  }

  @discardableResult public func callAsFunction(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) -> Void? {
    let isImplemented = OptionalMethod.isImplemented(by: delegate) {
      delegate.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
    }
    return isImplemented ? () : nil
  }

  @discardableResult public func callAsFunction(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) -> Void? {
    called { delegate.urlSession(session, task: task, needNewBodyStream: completionHandler) }
  }

  @discardableResult public func callAsFunction(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) -> Void? {
    called {
      delegate.urlSession(
        session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
        totalBytesExpectedToSend: totalBytesExpectedToSend)
    }
  }

  @discardableResult public func callAsFunction(
    _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
  ) -> Void? {
    called {
      delegate.urlSession(
        session, task: task, willBeginDelayedRequest: request, completionHandler: completionHandler)
    }
  }

  @discardableResult public func callAsFunction(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) -> Void? {
    called { delegate.urlSession(session, task: task, didFinishCollecting: metrics) }
  }

  @discardableResult public func callAsFunction(_ session: URLSession, didCreateTask task: URLSessionTask) -> Void? {
    called { delegate.urlSession(session, didCreateTask: task) }
  }

  @discardableResult public func callAsFunction(
    _ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask
  ) -> Void? {
    called { delegate.urlSession(session, taskIsWaitingForConnectivity: task) }
  }

  @discardableResult public func callAsFunction(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
  ) -> Void? {
    guard let delegate = delegate as? any URLSessionDataDelegate else { return nil }
    return called {
      delegate.urlSession(
        session, dataTask: dataTask, willCacheResponse: proposed, completionHandler: completionHandler)
    }
  }

  private func called(_ call: () -> Void) -> Void? {
    OptionalMethod.isImplemented(by: delegate, call) ? () : nil
  }
}

/// The same for the methods of a session.
public struct OptionalSessionMethods {
  let delegate: any URLSessionDelegate

  @discardableResult public func callAsFunction(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) -> Void? {
    let isImplemented = OptionalMethod.isImplemented(by: delegate) {
      delegate.urlSession(session, didReceive: challenge, completionHandler: completionHandler)
    }
    return isImplemented ? () : nil
  }
}

extension URLSessionDelegate {
  public var urlSession: OptionalSessionMethods? { OptionalSessionMethods(delegate: self) }
}

extension URLSessionTaskDelegate {
  public var urlSession: OptionalTaskMethods? { OptionalTaskMethods(delegate: self) }
}

// MARK: What delegates are given

// [doc] urlsessiontaskmetrics: one transaction for each request of the task, redirects among them.
public final class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
  public internal(set) var transactionMetrics: [URLSessionTaskTransactionMetrics] = []
  public internal(set) var taskInterval = DateInterval()
  public internal(set) var redirectCount = 0
}

public final class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
  public let request: URLRequest
  public let response: URLResponse?
  public let isReusedConnection: Bool
  // [doc] urlsessiontasktransactionmetrics/requeststartdate: when the task started to request the resource, which is nil if
  // it did not get that far.
  public let requestStartDate: Date?
  // [hdr] “If that aspect of the task could not be completed, then the corresponding EndDate metric will be nil”.
  public internal(set) var secureConnectionStartDate: Date?
  public internal(set) var secureConnectionEndDate: Date?

  init(_ request: URLRequest, _ response: URLResponse?, isReusedConnection: Bool, _ requestStartDate: Date?) {
    self.request = request
    self.response = response
    self.isReusedConnection = isReusedConnection
    self.requestStartDate = requestStartDate
  }
}

/// A challenge of URLSession is answered by its completion handler; its sender does nothing.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender {
  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
  func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
  func cancel(_ challenge: URLAuthenticationChallenge) {}
  func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}

// [doc] The authentication methods that Foundation on Linux lacks.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
