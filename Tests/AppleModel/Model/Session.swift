// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
import Foundation

open class URLSession: NSObject, @unchecked Sendable {
  public enum AuthChallengeDisposition: Int, Sendable {
    case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
  }
  public enum DelayedRequestDisposition: Int, Sendable { case continueLoading, useNewRequest, cancel }
  public enum ResponseDisposition: Int, Sendable { case cancel, allow, becomeDownload, becomeStream }
  public typealias Completion = @Sendable (Data?, URLResponse?, (any Error)?) -> Void

  /// Guards the session, its tasks and its connections.
  let changes = NSCondition()
  let values: ConfigurationValues
  private var currentDelegate: (any URLSessionDelegate)?
  private var isInvalid = false
  private var tasks: [Int: URLSessionTask] = [:]
  private var lastIdentifier = 0
  let pool = ConnectionPool()
  let network: NetworkConditions

  // [doc] urlsession/shared: it has no delegate, and cannot be invalidated.
  public static let shared = URLSession(configuration: .default)
  public let delegateQueue: OperationQueue

  // [doc] urlsession/init(configuration:): the session copies the configuration; `configuration` is a copy again.
  open var configuration: URLSessionConfiguration { URLSessionConfiguration(values) }

  // [doc] urlsession/delegate: held strongly until the session is invalidated.
  open var delegate: (any URLSessionDelegate)? { locked { currentDelegate } }

  public convenience init(configuration: URLSessionConfiguration) {
    self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
  }

  // [doc] urlsession/init(configuration:delegate:delegatequeue:): a serial queue of its own if there is none.
  public init(
    configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue queue: OperationQueue?
  ) {
    var values = configuration.values
    let device = values.device ?? SimulatedDevice()
    values.device = device
    self.values = values
    network = device.network
    currentDelegate = delegate
    delegateQueue = queue ?? OperationQueue()
    if queue == nil { delegateQueue.maxConcurrentOperationCount = 1 }
    super.init()
    device.add(self)
  }

  func locked<Value>(_ work: () throws -> Value) rethrows -> Value {
    changes.lock()
    defer { changes.unlock() }
    return try work()
  }

  // MARK: Tasks

  open func dataTask(with request: URLRequest) -> URLSessionDataTask { add(request, .request, nil) }
  open func dataTask(with request: URLRequest, completionHandler: @escaping Completion) -> URLSessionDataTask {
    add(request, .request, completionHandler)
  }
  open func dataTask(with url: URL) -> URLSessionDataTask { add(URLRequest(url: url), .request, nil) }
  open func dataTask(with url: URL, completionHandler: @escaping Completion) -> URLSessionDataTask {
    add(URLRequest(url: url), .request, completionHandler)
  }
  open func uploadTask(with request: URLRequest, from data: Data) -> URLSessionUploadTask {
    add(request, .data(data), nil)
  }
  open func uploadTask(with request: URLRequest, fromFile file: URL) -> URLSessionUploadTask {
    add(request, .file(file), nil)
  }
  open func uploadTask(
    with request: URLRequest, fromFile file: URL, completionHandler: @escaping Completion
  ) -> URLSessionUploadTask { add(request, .file(file), completionHandler) }
  open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
    add(request, .stream, nil)
  }

  private func add<Task: URLSessionTask>(
    _ request: URLRequest, _ body: URLSessionTask.Body, _ completion: Completion?
  ) -> Task {
    if values.identifier != nil {
      // [seen] huggingface/swift-transformers#341; the same for the async methods.
      if completion != nil {
        raise("Completion handler blocks are not supported in background sessions. Use a delegate instead.")
      }
      // [doc] “Downloading files in the background”; [seen] forums 746759.
      switch body {
      case .data: raise("Upload tasks from NSData are not supported in background sessions.")
      case .stream: raise("Upload tasks from a stream are not supported in background sessions.")
      default: break
      }
    }
    let task = locked { () -> Task? in
      if isInvalid { return nil }
      lastIdentifier += 1
      let task = Task(session: self, lastIdentifier, request, body, completion)
      tasks[lastIdentifier] = task
      return task
    }
    // [seen] wordpress-mobile/WordPress-iOS#15095.
    guard let task else { raise("Task created in a session that has been invalidated") }
    // [hdr] didCreateTask: called before the method that creates the task returns.
    (delegate as? any URLSessionTaskDelegate)?.urlSession(self, didCreateTask: task)
    return task
  }

  // [seen] lionheart/openradar-mirror#16036: without the tasks that were never resumed.
  open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
    let all = locked { tasks.values.filter(\.isStarted) }
    delegateQueue.addOperation { completionHandler(all) }
  }

  // MARK: The end

  // [doc] urlsession/finishtasksandinvalidate(): tasks that exist may finish, even if they were not resumed yet.
  open func finishTasksAndInvalidate() { invalidate(cancelsTasks: false) }
  open func invalidateAndCancel() { invalidate(cancelsTasks: true) }

  private func invalidate(cancelsTasks: Bool) {
    if self === URLSession.shared { return }
    let all = locked {
      isInvalid = true
      return Array(tasks.values)
    }
    if cancelsTasks { all.forEach { $0.cancel() } }
    if all.isEmpty { end() }
  }

  func remove(_ task: URLSessionTask) {
    let isLast = locked {
      tasks[task.taskIdentifier] = nil
      return isInvalid && tasks.isEmpty
    }
    if isLast { end() }
  }

  // [doc] urlsessiondelegate/urlsession(_:didbecomeinvalidwitherror:): nil for a session that was invalidated on purpose.
  private func end() {
    let delegate = locked {
      pool.removeAll()
      return currentDelegate
    }
    delegateQueue.addOperation { [self] in
      delegate?.urlSession(self, didBecomeInvalidWithError: nil)
      locked { currentDelegate = nil }
    }
  }
}

/// What happens to the device and the app. Tests set it.
public final class NetworkConditions: @unchecked Sendable {
  var isOffline = false
  var reason: URLError.NetworkUnavailableReason?
  var isAppSuspended = false
  var refusedServers: Set<String> = []
}

extension URLSession {
  /// No route to anywhere; connections that are open are lost. `reason`: why, if a setting of the user's forbids it.
  public func goOffline(_ reason: URLError.NetworkUnavailableReason? = nil) {
    eachSessionOfTheDevice { session in
      session.network.isOffline = true
      session.network.reason = reason
      session.pool.defunctAll()
    }
  }
  public func goOnline() {
    eachSessionOfTheDevice { $0.network.isOffline = false }
  }

  // [note] TN2277: no code of a suspended app runs, and the system may close its connections. forums 802375 (2025): it
  // closes all of them as soon as the app is suspended. forums 724950: the app notices when it runs again, by -1005.
  public func suspendApp() {
    eachSessionOfTheDevice { session in
      session.network.isAppSuspended = true
      session.pool.defunctAll()
    }
  }
  public func resumeApp() {
    eachSessionOfTheDevice { $0.network.isAppSuspended = false }
  }

  private func eachSessionOfTheDevice(_ change: (URLSession) -> Void) {
    for session in values.device?.sessions ?? [] {
      session.locked {
        change(session)
        session.changes.broadcast()
      }
    }
  }
}

/// The device on which an app runs: its sessions share what happens to it.
final class SimulatedDevice: @unchecked Sendable {
  let network = NetworkConditions()
  private struct Member { weak var session: URLSession? }
  private let lock = NSLock()
  private var members: [Member] = []

  var sessions: [URLSession] { lock.withLock { members.compactMap(\.session) } }

  func add(_ session: URLSession) {
    lock.withLock {
      members.removeAll { $0.session == nil }
      members.append(Member(session: session))
    }
  }
}
