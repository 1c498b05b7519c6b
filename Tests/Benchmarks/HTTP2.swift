import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// POSTs and PUTs to Tests/HTTP2/server.py, which refuses some of them. No request may be applied with another body than its
/// own, above all not with an empty one.
enum HTTP2 {
  /// What the server has seen.
  struct Report: Decodable {
    var applied: [String: Int]
    var wrong: [String]
    var refused: [String]
    var versions: [String: Int]
  }

  struct Order: Sendable {
    enum Kind: String, CaseIterable { case put = "PUT", keyed = "POST with a key", plain = "POST" }
    let id: String
    let kind: Kind
    let size: Int
    let request: URLRequest

    init(_ number: Int, run: String, base: URL, modes: [String], sizes: [Int]) {
      let group = number / Kind.allCases.count
      id = "\(run)-\(number)"
      kind = Kind.allCases[number % Kind.allCases.count]
      size = sizes[group / modes.count % sizes.count]
      var request = URLRequest(url: base.appendingPathComponent(modes[group % modes.count]))
      request.httpMethod = kind == .put ? "PUT" : "POST"
      request.setValue(id, forHTTPHeaderField: "X-ID")
      request.setValue(String(size), forHTTPHeaderField: "X-Size")
      if kind == .keyed { request.setValue(id, forHTTPHeaderField: "Idempotency-Key") }
      let text = Data("\(id) ".utf8)
      var body = Data(capacity: size + text.count)
      while body.count < size { body.append(text) }
      request.httpBody = body.prefix(size)
      self.request = request
    }
  }

  /// Responds to the server's Basic challenge.
  final class SignIn: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _: URLSession, task _: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      completionHandler(.useCredential, URLCredential(user: "wynd", password: "secret", persistence: .none))
    }
  }

  /// Arguments: the URL, the first parts of the paths (with commas), the number of calls, how many at once, and the sizes of
  /// the bodies (with commas).
  static func run(_ arguments: [String]) async -> Int32 {
    guard arguments.count == 5, let base = URL(string: arguments[0]), let calls = Int(arguments[2]),
      let width = Int(arguments[3])
    else { return 2 }
    let modes = arguments[1].split(separator: ",").map(String.init)
    let sizes = arguments[4].split(separator: ",").compactMap { Int($0) }
    let run = String(UInt32.random(in: 0...UInt32.max), radix: 36)
    let session = URLSession(configuration: .ephemeral, delegate: SignIn(), delegateQueue: nil)
    let began = ContinuousClock.now
    let results = await withTaskGroup(of: [(Order, Result<Data, NetworkError>)].self) { group in
      for worker in 0..<width {
        group.addTask {
          var results: [(Order, Result<Data, NetworkError>)] = []
          for number in stride(from: worker, to: calls, by: width) {
            let order = Order(number, run: run, base: base, modes: modes, sizes: sizes)
            results.append((order, await perform(order.request, session)))
          }
          return results
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    let time = ContinuousClock.now - began
    var asking = URLRequest(url: base.appendingPathComponent("report"))
    asking.setValue(run, forHTTPHeaderField: "X-ID")
    guard let data = try? await session.performNetworkRequest(asking),
      let report = try? JSONDecoder().decode(Report.self, from: data)
    else {
      print("✗ no report")
      return 1
    }
    let failed = results.filter { (try? $0.1.get()) == nil }.count
    print(
      "\(calls) calls in \(time), \(failed) not repeated; \(report.refused.count) refused,",
      report.versions.map { "\($1) by \($0)" }.joined(separator: ", "))
    let violations = report.wrong.map { "wrong body: \($0)" } + results.compactMap { violation($0, $1, report) }
    for violation in violations.prefix(10) { print("✗", violation) }
    print(violations.isEmpty ? "✓ every body is its request's own" : "✗ \(violations.count) violations")
    return violations.isEmpty ? 0 : 1
  }

  private static func perform(_ request: URLRequest, _ session: URLSession) async -> Result<Data, NetworkError> {
    let policy = RetryPolicy(
      maxRetries: 20, backoff: .exponential(base: .milliseconds(10), cap: .milliseconds(200)), budget: .unlimited)
    do { return .success(try await session.performNetworkRequest(request, policy: policy)) } catch {
      return .failure(error)
    }
  }

  private static func violation(
    _ order: Order, _ result: Result<Data, NetworkError>, _ report: Report
  ) -> String? {
    let applied = report.applied[order.id] ?? 0
    let name = "\(order.kind.rawValue) \(order.request.url?.path ?? "") of \(order.size) bytes"
    switch result {
    case .success(let data) where data != Data("\(order.size)".utf8):
      return "\(name): \(String(decoding: data, as: UTF8.self)) bytes arrived"
    case .success where applied == 0 || applied > 1 && order.kind == .plain: return "\(name): applied \(applied) times"
    case .success: return nil
    case .failure(let error):
      guard order.kind == .plain, case .notSafeToRepeat = error.stopReason, error.urlError != nil else {
        return "\(name): \(error)"
      }
      return applied <= 1 ? nil : "\(name): failed, and applied \(applied) times"
    }
  }
}
