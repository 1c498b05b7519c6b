import Foundation
import Wynd

/// One call to a URL.
struct Fetch {
  var request: URLRequest
  var policy = RetryPolicy.default
  /// The file of `-o`.
  var file: URL?

  /// Returns the exit code.
  func run() async -> Int32 {
    var body: Data?
    var code: Int32 = 0
    do throws(NetworkError) {
      body = try await send()
    } catch {
      Console.note("\(error)")
      // The response to a failed request often says why.
      if file == nil { body = error.data }
      code = 1
    }
    do {
      try FileHandle.standardOutput.write(contentsOf: body ?? Data())
    } catch {
      Console.note("standard output cannot be written: \(error.localizedDescription)")
      code = 1
    }
    return code
  }

  /// Returns the body, or nil if it is in the file.
  private func send() async throws(NetworkError) -> Data? {
    guard let file else {
      return try await URLSession.shared.performNetworkRequest(request, allowEmptyData: true, policy: policy)
    }
    try await URLSession.shared.performNetworkDownload(
      request, to: file, overwrites: true, resumes: true, policy: policy, onProgress: ProgressBar.draw)
    ProgressBar.clear()
    return nil
  }
}
