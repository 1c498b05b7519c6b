import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Performs the requests of suite.mjs: reads one JSON object from each line of the input, and writes one for each.
//
//   CacheSuite                     with a cache in memory
//   CacheSuite FOLDER              with a cache on disk

/// What `fetch` of JavaScript is called with.
struct Fetch: Decodable, Sendable {
  var id: Int
  /// Cancels an earlier one with this id.
  var cancels: Bool?
  var method: String?
  var url: URL?
  var headers: [[String]]?
  var body: String?
  var cache: String?
  var redirect: String?

  var request: URLRequest? {
    guard let url else { return nil }
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.httpBody = body.map { Data($0.utf8) }
    for field in headers ?? [] { request.setValue(field.last, forHTTPHeaderField: field[0]) }
    request.timeoutInterval = 20
    request.cachePolicy =
      switch cache {
      case "no-cache": .reloadRevalidatingCacheData
      case "no-store", "reload": .reloadIgnoringLocalCacheData
      case "force-cache": .returnCacheDataElseLoad
      case "only-if-cached": .returnCacheDataDontLoad
      default: .useProtocolCachePolicy
      }
    return request
  }
}

struct Answer: Encodable, Sendable {
  var id: Int
  var status: Int?
  var headers: [[String]]?
  var body: String?
  var source: String?
  var error: String?
}

/// Follows no redirect of a request with `redirect: "manual"`, which has a field that says so.
final class Redirects: NSObject, URLSessionTaskDelegate {
  static let field = "X-Redirect"

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    let isManual = task.originalRequest?.value(forHTTPHeaderField: Self.field) == "manual"
    completionHandler(isManual ? nil : request)
  }
}

func answer(_ fetch: Fetch, on cache: ResponseCache) async -> Answer {
  guard var request = fetch.request else { return Answer(id: fetch.id, error: "not a URL") }
  if fetch.redirect == "manual" { request.setValue("manual", forHTTPHeaderField: Redirects.field) }
  do {
    let response = try await cache.networkResponse(for: request, acceptsAnyStatus: true, policy: .never)
    return Answer(
      id: fetch.id, status: response.statusCode, headers: response.headers.map { [$0.name, $0.value] },
      body: String(decoding: response.data, as: UTF8.self), source: "\(response.source)")
  } catch {
    return Answer(id: fetch.id, error: "\(error)")
  }
}

let configuration = URLSessionConfiguration.ephemeral
configuration.urlCache = nil
configuration.httpMaximumConnectionsPerHost = 64
let session = URLSession(configuration: configuration, delegate: Redirects(), delegateQueue: nil)
let folder = CommandLine.arguments.dropFirst().first.map { URL(fileURLWithPath: $0) }
let cache = try folder.map { try ResponseCache(in: $0, on: session) } ?? ResponseCache(on: session)

var tasks: [Int: Task<Void, Never>] = [:]
while let line = readLine() {
  let fetch = try JSONDecoder().decode(Fetch.self, from: Data(line.utf8))
  if fetch.cancels == true {
    tasks.removeValue(forKey: fetch.id)?.cancel()
    continue
  }
  tasks[fetch.id] = Task.detached { [cache] in
    guard let json = try? JSONEncoder().encode(await answer(fetch, on: cache)) else { return }
    // One write for each line, which a pipe keeps whole if it is short. Lines of this suite are.
    FileHandle.standardOutput.write(json + Data("\n".utf8))
  }
}
