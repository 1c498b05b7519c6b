import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSession {
  /// An ephemeral session with a changed configuration.
  static func ephemeral(_ change: (URLSessionConfiguration) -> Void) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    change(configuration)
    return URLSession(configuration: configuration)
  }
}

extension OperationQueue {
  static func serial() -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    return queue
  }
}
