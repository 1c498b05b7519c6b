// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
import Foundation

public class URLSessionTask: NSObject, @unchecked Sendable {
  public enum State: Int, Sendable { case running, suspended, canceling, completed }
  enum Body {
    case request
    case data(Data)
    case file(URL)
    case stream
  }

  public let taskIdentifier: Int
  public let originalRequest: URLRequest?
  let body: Body
  /// The session's, which the task releases when it has completed.
  let changes: NSCondition
  /// Signaled when there is a place, or when the task is cancelled.
  let turn = DispatchSemaphore(value: 0)
  public let progress = Progress(totalUnitCount: -1)

  // Guarded by `changes`:
  private(set) var session: URLSession?
  private var completion: URLSession.Completion?
  private var ownDelegate: (any URLSessionTaskDelegate)?
  private var suspensions = 1
  private(set) var isStarted = false
  private(set) var isCancelled = false
  /// A place among the connections of its host.
  var hasPlace = false
  private var isCompleted = false
  private var lastActivity = DispatchTime.now()
  private var values = Values()
  /// Shut down when the task is cancelled, so that nothing waits for it any more.
  var connection: Connection?

  struct Values {
    var currentRequest: URLRequest?
    var response: URLResponse?
    var error: (any Error)?
    var countOfBytesSent: Int64 = 0
    var countOfBytesReceived: Int64 = 0
    var countOfBytesExpectedToReceive: Int64 = -1
  }

  required init(
    session: URLSession, _ identifier: Int, _ request: URLRequest, _ body: Body, _ completion: URLSession.Completion?
  ) {
    (self.session, taskIdentifier, originalRequest, self.body) = (session, identifier, request, body)
    (self.completion, changes) = (completion, session.changes)
    values.currentRequest = request
  }

  func locked<Value>(_ work: () throws -> Value) rethrows -> Value {
    changes.lock()
    defer { changes.unlock() }
    return try work()
  }

  func update(_ change: (inout Values) -> Void) { locked { change(&values) } }
  public var currentRequest: URLRequest? { locked { values.currentRequest } }
  public var response: URLResponse? { locked { values.response } }
  public var error: (any Error)? { locked { values.error } }
  public var countOfBytesSent: Int64 { locked { values.countOfBytesSent } }
  public var countOfBytesReceived: Int64 { locked { values.countOfBytesReceived } }
  public var countOfBytesExpectedToReceive: Int64 { locked { values.countOfBytesExpectedToReceive } }
  public var countOfBytesExpectedToSend: Int64 {
    switch body {
    case .request where originalRequest?.httpBodyStream != nil: lengthOfStream
    case .request: Int64(originalRequest?.httpBody?.count ?? 0)
    case .data(let data): Int64(data.count)
    case .file(let file): Int64((try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0)
    case .stream: lengthOfStream
    }
  }
  // [doc] urlsessiontask/countofbytesexpectedtosend: the Content-Length of the request, or else
  // NSURLSessionTransferSizeUnknown.
  private var lengthOfStream: Int64 {
    originalRequest?.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) } ?? -1
  }

  // [hdr] delegate: “Can only be set before the task is resumed”, “not supported on background session”, held strongly
  // until the task completes, then nil.
  public var delegate: (any URLSessionTaskDelegate)? {
    get { locked { ownDelegate } }
    set {
      locked {
        if session?.values.identifier != nil { raise("Task delegate is not supported on background session task") }
        if isStarted { raise("Cannot set task delegate after resumption") }
        ownDelegate = newValue
      }
    }
  }

  public var state: State {
    locked { isCompleted ? .completed : isCancelled ? .canceling : suspensions > 0 ? .suspended : .running }
  }
  var isCollected: Bool { locked { completion != nil } }

  // MARK: Suspension. [hdr] “All tasks start in a suspended state”, and a suspended task has no time-out.

  // [seen] corelibs#2733: suspensions and resumptions are counted, and more resumptions than suspensions are allowed. One
  // resumption too many is set against the next suspension.
  public func resume() {
    let starting: URLSession? = locked {
      suspensions -= 1
      lastActivity = .now()
      changes.broadcast()
      if suspensions > 0 || isStarted || isCancelled { return nil }
      isStarted = true
      return session
    }
    if let starting { Loader(self, starting).start() }
  }
  public func suspend() { locked { suspensions += 1 } }

  // [hdr] cancel: returns at once, the task completes with NSURLErrorCancelled later; allowed on a suspended task.
  public func cancel() {
    let unstarted: URLSession? = locked {
      if isCancelled || isCompleted { return nil }
      isCancelled = true
      connection?.shutDown()
      turn.signal()
      changes.broadcast()
      return isStarted ? nil : session
    }
    if let unstarted { Loader(self, unstarted).finish(URLError(.cancelled)) }
  }

  // MARK: For the loader

  func noteActivity() { locked { lastActivity = .now() } }
  var idleTime: TimeInterval { locked { DispatchTime.now().seconds(since: lastActivity) } }

  /// Waits while the task, or the app, is suspended, and while `condition` says so.
  func waitWhile(until end: Date = .distantFuture, _ condition: () -> Bool = { false }) throws {
    try locked {
      var hasWaited = false
      while !isCancelled, suspensions > 0 || session?.network.isAppSuspended == true || condition() {
        hasWaited = true
        // A date that is too far away crashes.
        if end == .distantFuture {
          changes.wait()
        } else if !changes.wait(until: end) {
          throw URLError(.timedOut)
        }
      }
      if hasWaited { lastActivity = .now() }
      if isCancelled { throw URLError(.cancelled) }
    }
  }

  /// Whose completion handler has to be called. The task releases everything.
  func complete(_ error: (any Error)?) -> URLSession.Completion? {
    locked {
      values.error = error
      isCompleted = true
      defer { (completion, connection) = (nil, nil) }
      return completion
    }
  }
  func release() {
    let released = locked {
      defer { (ownDelegate, session) = (nil, nil) }
      return (ownDelegate, session)
    }
    released.1?.remove(self)
  }
}

public class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}
public class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}

extension DispatchTime {
  func seconds(since earlier: DispatchTime) -> TimeInterval {
    TimeInterval(uptimeNanoseconds &- earlier.uptimeNanoseconds) / 1e9
  }
}
