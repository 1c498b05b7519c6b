#if !canImport(FoundationNetworking)
  import Foundation

  /// Keeps the metrics of a placeholder, which sends nothing, from the delegate of the session.
  nonisolated final class AppleSilentDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(_: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {}
  }
#endif
