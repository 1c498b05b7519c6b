import Foundation
import LoopbackServer
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
  private let isOnLinux = true
#else
  private let isOnLinux = false
#endif

/// Measures what Apple's documents leave open about URLSession, and what the library makes of it. Each line says that the
/// result is as expected, or what was seen in its place.
@main struct FirstDay {
  /// `usesClassicLoadingMode` of all sessions; nil for the default of the system.
  let usesClassicLoader: Bool?
  nonisolated(unsafe) private static var differences = 0

  static func main() async throws {
    // A proxy cannot reach this process.
    setenv("no_proxy", "127.0.0.1", 1)
    var loaders: [Bool?] = [nil]
    if !isOnLinux, #available(macOS 15.4, iOS 18.4, *) { loaders = [true, false] }
    for loader in loaders {
      print("\nusesClassicLoadingMode: \(loader.map { "\($0)" } ?? "the default")")
      let (day, silent) = (FirstDay(usesClassicLoader: loader), try LoopbackServer(script: .hang))
      await day.texts(silent)
      try await day.metrics(silent)
      try await day.redirects()
      await day.timeouts(silent)
      try await day.challenges()
      try await day.urlCache()
      try await day.concurrentQueue()
      try await day.secretOfASession()
      try await day.streams()
    }
    if isOnLinux { notOnLinux("10. a suspended app, 11. a save panel, 12. a locked device") } else { print(byHand) }
    print(differences == 0 ? "\nall as expected" : "\n\(differences) results are not as expected")
    exit(differences == 0 ? 0 : 1)
  }

  private static func report(_ what: String, _ seen: String, expected: String? = nil) {
    if seen == expected { return print("as expected: \(what): \(seen)") }
    if expected != nil { differences += 1 }
    print("SEEN: \(what): \(seen)\(expected.map { "\n      expected: \($0)" } ?? "")")
  }

  private static func notOnLinux(_ what: String) { print("not on Linux: \(what)") }

  private func session(
    _ delegate: Probe? = nil, _ queue: OperationQueue? = nil, configured: (URLSessionConfiguration) -> Void = { _ in }
  ) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    #if !canImport(FoundationNetworking)
      if let usesClassicLoader, #available(macOS 15.4, iOS 18.4, *) {
        configuration.usesClassicLoadingMode = usesClassicLoader
      }
    #endif
    configured(configuration)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
  }

  private func request(_ method: String, _ url: URL?, _ body: String = "", timeout: TimeInterval? = nil) -> URLRequest {
    var request = URLRequest(url: url ?? URL(fileURLWithPath: "/"))
    request.httpMethod = method
    if !body.isEmpty { request.httpBody = Data(body.utf8) }
    if let timeout { request.timeoutInterval = timeout }
    return request
  }

  private func failure<Value>(of call: () async throws -> Value) async -> NetworkError? {
    do { _ = try await call() } catch { return error as? NetworkError }
    return nil
  }

  // MARK: The measurements

  private func texts(_ silent: LoopbackServer) async {
    let deadline = RetryPolicy(deadline: .seconds(1))
    let late = await failure { try await session().performNetworkRequest(silent.url(), policy: deadline) }
    Self.report("1. text at a deadline", late?.localizedDescription ?? "", expected: "The request timed out.")
    if isOnLinux { return Self.notOnLinux("1. the text of a URLError that URLSession has not made") }
    Self.report(
      "1. text of URLError(.timedOut)", URLError(.timedOut).localizedDescription,
      expected: "The operation couldn’t be completed. (NSURLErrorDomain error -1001.)")
  }

  private func metrics(_ silent: LoopbackServer) async throws {
    let refused = try LoopbackServer(isListening: false) { _ in .ok() }
    let twice = RetryPolicy(maxRetries: 1, backoff: .immediate)
    let post = await failure {
      try await session().performNetworkRequest(request("POST", refused.url(), "abc"), policy: twice)
    }
    Self.report("2. attempts of a POST to a refused port", "\(post?.attempts.count ?? 0)", expected: "2")
    if isOnLinux { return Self.notOnLinux("2. metrics") }
    for (what, url, expected) in [
      ("a refused port", refused.url(), "-1004, transactions: 1, started: 0, bytes: 0"),
      ("an unknown host", URL(string: "http://unknown.invalid/"), "-1003, transactions: 1, started: 0, bytes: 0"),
      ("a silent server", silent.url(), "-1001, transactions: 1, started: 1, bytes: 3"),
    ] {
      let probe = Probe()
      let seen = await probe.load(request("POST", url, "abc", timeout: 3), on: session(probe))
      Self.report("2. metrics of a POST to \(what)", seen, expected: expected)
    }
  }

  private func redirects() async throws {
    let server = try LoopbackServer { request in
      Int(request.target.dropFirst()).map { .redirect($0, to: "/to") } ?? .ok()
    }
    for status in [301, 302, 307, 308] {
      let what = "after a \(status)"
      var (seen, seenBare, expected, expectedBare) = ("", "", "", "")
      for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let (probe, request) = (Probe(), request(method, server.url("/\(status)"), "body"))
        func arrived() -> String { server.requests.last.map { " \(method)→\($0.method) \($0.text)" } ?? "" }
        _ = try await session().networkData(for: request, policy: .never)
        seen += arrived()
        expected += status < 303 && method == "POST" ? " POST→GET " : " \(method)→\(method) body"
        if isOnLinux { continue }
        _ = await probe.load(request, on: session(probe))
        seenBare += arrived()
        expectedBare += status < 303 ? " \(method)→GET " : " \(method)→\(method) body"
      }
      Self.report("3. Wynd \(what)", seen, expected: expected)
      if !isOnLinux { Self.report("3. URLSession itself \(what)", seenBare, expected: expectedBare) }
    }
    if isOnLinux { Self.notOnLinux("3. URLSession itself") }
  }

  private func timeouts(_ silent: LoopbackServer) async {
    let limits: [(session: Int, request: Int?)] = isOnLinux ? [(1, nil), (1, 3)] : [(5, nil), (5, 20), (60, 90)]
    await withTaskGroup { group in
      for limit in limits {
        group.addTask {
          let start = ContinuousClock.now
          let slow = session { $0.timeoutIntervalForRequest = TimeInterval(limit.session) }
          let request = request("GET", silent.url(), timeout: limit.request.map { TimeInterval($0) })
          _ = try? await slow.networkData(for: request, policy: .never)
          return (limit, (ContinuousClock.now - start + .milliseconds(500)).components.seconds)
        }
      }
      for await (limit, seconds) in group {
        let what = "4. time-out of session \(limit.session), of request \(limit.request.map { "\($0)" } ?? "untouched")"
        Self.report(what, "\(seconds) s", expected: "\(limit.request ?? limit.session) s")
      }
    }
  }

  private func challenges() async throws {
    let basic = try LoopbackServer { _ in .status(401, [("WWW-Authenticate", #"Basic realm="x""#)]) }
    await refuse("Basic", basic.url(), expected: "-1012, -1012, asked 2 times")
    #if os(macOS)
      // LoopbackServer has no TLS. The port is a free one.
      let port = try LoopbackServer(isListening: false) { _ in .ok() }.port
      let command = """
        cd "$(mktemp -d)" && openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key -out cert &&
        exec openssl s_server -accept \(port) -key key -cert cert -www
        """
      let openssl = try ChildProcess("/bin/sh", ["-c", command])
      try await Task.sleep(for: .seconds(3))
      await refuse("server trust", URL(string: "https://127.0.0.1:\(port)/"), expected: "-1202, -1202, asked 2 times")
      openssl.send(SIGTERM)
      await openssl.ended()
    #else
      Self.notOnLinux("5. a refused server trust")
    #endif
  }

  private func urlCache() async throws {
    if isOnLinux { return Self.notOnLinux("6. what URLSession stores in its URLCache") }
    let server = try LoopbackServer { _ in .ok(Array("x".utf8), [("Cache-Control", "max-age=3600")]) }
    let cache = URLCache(memoryCapacity: 10_000_000, diskCapacity: 0, diskPath: nil)
    let plain = session { $0.urlCache = cache }
    var reload = request("GET", server.url("/reload"))
    reload.cachePolicy = .reloadIgnoringLocalCacheData
    _ = try await plain.networkData(from: server.url("/plain"))
    _ = try await plain.networkData(for: reload)
    _ = try await session(Probe()) { $0.urlCache = cache }.networkData(from: server.url("/refused"))
    _ = try await ResponseCache(on: plain).performNetworkRequest(server.url("/cached"))
    // URLSession stores in the background.
    try await Task.sleep(for: .seconds(1))
    for (path, what, expected) in [
      ("/plain", "a GET", "true"), ("/reload", "a GET with reloadIgnoringLocalCacheData", nil),
      ("/refused", "a response that the delegate refuses", "false"), ("/cached", "one of a ResponseCache", "false"),
    ] {
      let isStored = cache.cachedResponse(for: URLRequest(url: server.url(path))) != nil
      Self.report("6. \(what) is stored in the URLCache", "\(isStored)", expected: expected)
    }
  }

  private func concurrentQueue() async throws {
    let body = Array(UInt64(0)..<12_500_000).withUnsafeBytes { Array($0) }
    let server = try LoopbackServer(isRecording: false) { _ in .ok(body, []) }
    let data = try await session(nil, OperationQueue()).networkData(from: server.url()).0
    Self.report("7. 100 MB with a concurrent queue are right", "\(data == Data(body))", expected: "true")
    if isOnLinux { return Self.notOnLinux("7. how many calls for a task URLSession makes at once") }
    let probe = Probe()
    _ = await probe.load(request("GET", server.url()), on: session(probe, OperationQueue()))
    Self.report("7. the same of URLSession itself", "\(probe.received == Data(body))", expected: "true")
    Self.report("7. calls for a task at once, at most", "\(probe.mostCallsAtOnce)", expected: "1")
  }

  private func secretOfASession() async throws {
    let second = try LoopbackServer(script: .ok())
    let first = try LoopbackServer(script: .redirect(to: "\(second.url())"))
    _ = try await session { $0.httpAdditionalHeaders = ["Authorization": "secret"] }.networkData(from: first.url())
    let arrived = [first, second].map { $0.requests.last?.value("Authorization").map { "“\($0)”" } ?? "none" }
    Self.report(
      "8. Authorization of a session, and after a redirect to another origin", arrived.joined(separator: ", "),
      expected: "“secret”, none")
  }

  private func streams() async throws {
    for (what, count, expected) in [
      ("longer", 1_000_000, isOnLinux ? "0, arrived: 10" : "-1103"),
      ("shorter", 5, isOnLinux ? "-1021, arrived: 0" : "-1001"),
    ] {
      let server = try LoopbackServer(script: .ok())
      let stream = RequestBody.stream(length: 10) { InputStream(data: Data(repeating: 65, count: count)) }
      let policy = RetryPolicy(maxRetries: 0, deadline: .seconds(5))
      let error = await failure {
        try await session().performNetworkUpload(server.url(), from: stream, policy: policy)
      }
      let arrived = isOnLinux ? ", arrived: \(server.requests.last { $0.isComplete }?.body.count ?? 0)" : ""
      let seen = "\(error?.urlError?.errorCode ?? 0)\(arrived)"
      Self.report("9. a stream that is \(what) than its length", seen, expected: expected)
    }
  }

  /// Two calls of the library on a session whose delegate refuses each challenge.
  private func refuse(_ what: String, _ url: URL?, expected: String) async {
    let probe = Probe()
    let session = session(probe)
    var seen = ""
    for _ in 0..<2 {
      let error = await failure { try await session.performNetworkRequest(request("GET", url), policy: .never) }
      seen += "\(error?.urlError?.errorCode ?? 0), "
    }
    Self.report("5. refused challenge, \(what)", "\(seen)asked \(probe.challenges) times", expected: expected)
  }

  private static let byHand = """

    By hand, in an app:
    2.  In airplane mode, a POST is -1009, and is repeated for maxUnreachableTime. If airplane mode begins while the server
        works on it, it is not repeated: notSafeToRepeat.
    10. Suspend the app for 5 minutes in a GET: it succeeds after the app has returned. Turn a VPN on or off in a GET, and
        change from Wi-Fi to cellular in a download: both succeed, and the download continues where it was.
        Note each error in `attempts`: after a suspension, -1005 is expected, and -1001 is a finding.
    11. In a sandboxed Mac app, choose a place in a save panel, and download to it, also to a file that exists (overwrites).
        The file is there, and no other one beside it.
    12. In an app with complete data protection, lock the device, and read a ResponseCache in a background task: nothing is
        found. After the device is unlocked, the response is there again.
    """
}
