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

/// A protocol of the app for tasks, which a test replaces.
nonisolated protocol AppTask {
  func resume()
  func cancel()
}
nonisolated extension NetworkTask: AppTask {}

nonisolated struct Service {
  let session = URLSession.shared

  /// One word instead of `data(for:)`.
  func send(_ request: URLRequest) async throws -> (Data, Int) {
    do {
      let (data, response) = try await session.networkData(for: request)
      return (data, response.statusCode)
    } catch let error as URLError where error.code == .cancelled {
      throw CancellationError()
    }
  }

  /// One word instead of `dataTask(with:)`.
  func task(_ request: URLRequest, then: @escaping @Sendable (Data?, URLResponse?, (any Swift.Error)?) -> Void)
    -> any AppTask
  {
    session.networkDataTask(with: request) { data, response, error in
      then(data, response as? HTTPURLResponse, error)
    }
  }

  func search(_ request: URLRequest) async throws -> NetworkResponse<Data> {
    try await session.networkResponse(for: request.declared(isReadOnly: true), acceptsAnyStatus: true)
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
