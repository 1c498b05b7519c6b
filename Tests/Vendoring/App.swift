// The app that Sources/Wynd was dragged into: what a newcomer writes first.
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

final class Model {
  var text = ""
  let session = URLSession.shared

  func loadWithCallback(_ request: URLRequest) {
    session.performNetworkRequest(request, maxRetries: 3) { result in
      switch result {
      case .success(let data): print(data.count)
      case .failure(.cancelled): break
      case .failure(let error): print(error.localizedDescription, error.statusCode ?? 0)
      }
    }
  }

  func load(_ url: URL) async {
    do throws(NetworkError) {
      let data = try await session.performNetworkRequest(url, policy: .patient)
      text = String(decoding: data, as: UTF8.self)
    } catch {
      text = "\(error)"
    }
  }
}

func policy() -> RetryPolicy {
  var policy = RetryPolicy(maxRetries: 3, deadline: .seconds(10))
  policy.onEvent = { event in print(event) }
  policy.shouldRetry = { error in error.statusCode == 404 || error.shouldRetry }
  return policy
}

// What an app that has been around for a while has already.
extension URL {
  var origin: String { "" }
  var redacted: String { "" }
}
extension URLError {
  var name: String { "" }
  var advice: String { "" }
  var isTransient: Bool { false }
}
extension Swift.Duration {
  var text: String { "" }
  var inSeconds: Double { 0 }
  static func clamped(seconds: Double) -> Swift.Duration { .zero }
}
extension URLRequest {
  var isSafe: Bool { true }
  enum Method: String { case get = "GET" }
  struct Header { var name = "" }
  typealias Body = Data
}
extension Data { mutating func append(_ string: String) { append(contentsOf: Data(string.utf8)) } }
struct Cursor {}
struct Live {}
enum Backend { case live }
