import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One upload, for scripts. The arguments are the URL, the file and the number of retries.
enum Upload {
  static func run(_ arguments: [String]) async -> Int32 {
    guard arguments.count == 3, let url = URL(string: arguments[0]), let maxRetries = Int(arguments[2]) else {
      return 2
    }
    var policy = RetryPolicy.default
    policy.maxRetries = maxRetries
    do throws(NetworkError) {
      let file = RequestBody.file(URL(filePath: arguments[1]))
      try await URLSession.shared.performNetworkUpload(URLRequest(url: url), from: file, policy: policy)
      return 0
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      return 1
    }
  }
}
