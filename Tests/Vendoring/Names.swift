import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Types of an app whose short names the library must not use.
struct Download {}
struct TemporaryFile {}
struct PartialFile {}
struct ByteStream {}
struct Redirects {}
struct Redirect {}
struct ContentRange {}
struct Attempt {}
struct Origin {}
struct Clock {}
struct Lock {}
struct Transport {}
struct Reply {}
struct Send {}
struct Outcome {}
struct Outgoing {}
struct Session {}
struct Cache {}
struct Placeholder {}
struct SensitiveHeader {}
struct LineSplitter {}
struct CacheControl {}
struct ListField {}
struct PercentEncoding {}
struct StoreKey {}
struct LeastRecentlyUsed {}
struct ProgressReporter {}
struct LoggableError {}
struct ResponseError {}
struct Upload {}
struct Middleware {}
struct Client {}
struct Retry {}
struct Policy {}
struct Event {}
struct Request {}
struct Decision {}
struct RedirectHandler {}
struct EndpointURL {}
struct ClientDecoder {}
func inBackground() {}
struct IPAddress {}
struct MediaType {}
struct Charset {}
struct UnreadableText {}
struct EventParser {}
struct ServerSentEventParser {}
struct SessionPerformer {}
struct ScriptPlay {}
struct EndpointDownload {}
struct BoundedQueue {}
struct PublishedCall {}
struct CURLCommand {}
struct Task {}
struct Result {}
struct Duration {}
struct Date {}
struct RetryAfter {}
struct Header {}
struct Headers {}
struct Values {}
struct Object {}
struct Query {}
struct QueryNode {}
struct Credential {}
struct PartialDownload {}
struct Error {}

// The usual way to replace a session in tests.
protocol SessionTask { func resume() }
extension URLSessionDataTask: SessionTask {}
extension URLSession {
  func dataTask(
    with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Swift.Error)?) -> Void
  ) -> any SessionTask {
    let task: URLSessionDataTask = dataTask(with: request, completionHandler: completionHandler)
    return task
  }
  func dataTask(with request: URLRequest) -> any SessionTask {
    let task: URLSessionDataTask = dataTask(with: request)
    return task
  }
  func uploadTask(with request: URLRequest, fromFile file: URL) -> any SessionTask {
    let task: URLSessionUploadTask = uploadTask(with: request, fromFile: file)
    return task
  }
}
extension NetworkTask: SessionTask {}
