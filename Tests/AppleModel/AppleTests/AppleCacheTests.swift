import Foundation
import Testing
import Wynd
import WyndLoopbackServer

/// What a call leaves in the `URLCache` of its session.
@Suite(.timeLimit(.minutes(1)), .fewAtOnce) struct AppleCacheTests {
  final class Delegate: NSObject, URLSessionDataDelegate, Sendable {
    let sessions = Box<[ObjectIdentifier]>([])
    let stores: Bool
    init(stores: Bool) { self.stores = stores }
    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse,
      completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
      sessions.append(ObjectIdentifier(session))
      completionHandler(stores ? proposed : nil)
    }
  }
  private final class NoMethod: NSObject, URLSessionDataDelegate, Sendable {}

  static let fresh = [("Cache-Control", "max-age=3600"), ("ETag", "\"1\"")]
  static let answers: [Set<ModelAnswer>] = [[], [.storesForReload]]

  private static func session(
    _ delegate: (any URLSessionDelegate)?, _ answers: Set<ModelAnswer> = []
  ) throws -> (URLSession, URLCache) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.answers = answers
    let cache = try #require(configuration.urlCache)
    return (URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil), cache)
  }

  /// On the app's session and on a private one, the app keeps what it wants off the disk.
  @Test(arguments: [CallKind.request, .client, .stream], [1, 2])
  func delegateDecidesWhatIsStored(_ kind: CallKind, _ attempts: Int) async throws {
    for stores in [true, false] {
      let server = try LoopbackServer { request in
        request.index < attempts - 1 ? .status(503) : .status(200, Self.fresh, body: "the response")
      }
      let delegate = Delegate(stores: stores)
      let (session, cache) = try Self.session(delegate)
      let response = try await kind.response(to: server.url(), on: session, policy: .quick())
      #expect(response.data == Data("the response".utf8) && server.requests.count == attempts)
      // A stream ends for its reader before URLSession has ended it.
      await until { delegate.sessions.value?.isEmpty == false }
      #expect(delegate.sessions.value == [ObjectIdentifier(session)])
      if stores { await until { cache.cachedResponse(for: URLRequest(url: server.url())) != nil } }
      #expect((cache.cachedResponse(for: URLRequest(url: server.url())) != nil) == stores)
    }
  }

  @Test func storesWithoutADelegateThatDecides() async throws {
    for delegate in [nil, NoMethod(), RecordingDelegate()] as [(any URLSessionDelegate)?] {
      let server = try LoopbackServer(script: .status(503), .status(200, Self.fresh, body: "the response"))
      let (session, cache) = try Self.session(delegate)
      for _ in 1...2 { _ = try await session.networkResponse(for: server.url(), policy: .quick()) }
      #expect(cache.cachedResponse(for: URLRequest(url: server.url()))?.data == Data("the response".utf8))
      #expect(server.requests.count == 2)
    }
  }

  /// The one is stored by the library, the other is a file.
  @Test(arguments: ["ResponseCache", "reload of a ResponseCache", "ResponseCache and middleware", "download"], answers)
  func leavesNothingOfWhatIsStoredElsewhere(_ kind: String, _ answers: Set<ModelAnswer>) async throws {
    let server = try LoopbackServer { _ in .status(200, Self.fresh, body: "the response") }
    let folder = try Folder()
    for delegate in [nil, Delegate(stores: true)] {
      let (session, cache) = try Self.session(delegate, answers)
      var request = URLRequest(url: server.url())
      if kind == "download" {
        let name = delegate == nil ? "a" : "b"
        try await session.performNetworkDownload(request, to: folder.file(name), policy: .quick())
      } else {
        if kind.hasPrefix("reload") { request.cachePolicy = .reloadIgnoringLocalCacheData }
        var client = NetworkClient(on: ResponseCache(on: session))
        if kind.hasSuffix("middleware") { client.middleware = [.around { request, next in try await next(request) }] }
        _ = try await client.performNetworkRequest(request)
      }
      #expect(cache.cachedResponse(for: URLRequest(url: server.url())) == nil)
      #expect(delegate?.sessions.value?.isEmpty != false)
    }
  }
}
