#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking
  import Testing
  import Wynd
  import WyndLoopbackServer

  /// What the app has stored in the session's `URLCache` is used if the `cachePolicy` says so, as by bare URLSession.
  @Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct URLCacheTests {
    let session: URLSession = {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.urlCache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)
      return URLSession(configuration: configuration)
    }()

    func request(_ server: LoopbackServer, _ policy: URLRequest.CachePolicy, isStored: Bool) throws -> URLRequest {
      let request = URLRequest(url: server.url("/\(policy.rawValue)"), cachePolicy: policy)
      let response = try #require(
        HTTPURLResponse(url: server.url(), statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["X-A": "stored"]))
      let stored = CachedURLResponse(response: response, data: Data("stored".utf8))
      if isStored { session.configuration.urlCache?.storeCachedResponse(stored, for: request) }
      return request
    }

    static let rows: [(URLRequest.CachePolicy, isStored: Bool, expected: String?, sent: Int)] = [
      (.returnCacheDataElseLoad, true, "stored", 0), (.returnCacheDataElseLoad, false, "server", 1),
      (.returnCacheDataDontLoad, true, "stored", 0), (.returnCacheDataDontLoad, false, nil, 0),
      (.useProtocolCachePolicy, true, "server", 1), (.reloadIgnoringLocalCacheData, true, "server", 1),
    ]
    @Test(arguments: rows) func usesWhatTheAppHasStored(
      _ policy: URLRequest.CachePolicy, _ isStored: Bool, _ expected: String?, _ sent: Int
    ) async throws {
      let server = try LoopbackServer(script: .ok("server"))
      let request = try request(server, policy, isStored: isStored)
      let result = await session.result(of: request, policy: .quick())
      let handled = await handlerValue { session.performNetworkRequest(request, completionHandler: $0) }
      for result in [result, handled] {
        #expect((try? result.get()) == expected.map { Data($0.utf8) })
        if expected == nil { #expect(result.error?.urlError?.code == .resourceUnavailable) }
      }
      #expect(server.requests.count == 2 * sent)
    }

    /// As bare URLSession does.
    @Test func servesOnlyAGETWithoutACredentialAndNoError() async throws {
      let server = try LoopbackServer { .ok($0.method) }
      for policy in [URLRequest.CachePolicy.returnCacheDataElseLoad, .returnCacheDataDontLoad] {
        var request = try request(server, policy, isStored: true)
        for method in ["POST", "DELETE", "HEAD"] {
          request.httpMethod = method
          let result = await session.result(of: request, allowEmptyData: true)
          #expect(result.error == nil && server.requests.last?.method == method)
        }
        request.httpMethod = "GET"
        request.setValue("Bearer b", forHTTPHeaderField: "Authorization")
        #expect(try await session.result(of: request).get() == Data("GET".utf8))
      }
      let url = server.url("/error")
      let failed = try #require(HTTPURLResponse(url: url, statusCode: 503, httpVersion: "HTTP/1.1", headerFields: [:]))
      let request = URLRequest(url: url, cachePolicy: .returnCacheDataElseLoad)
      session.configuration.urlCache?.storeCachedResponse(
        CachedURLResponse(response: failed, data: Data("stored".utf8)), for: request)
      #expect(try await session.result(of: request).get() == Data("GET".utf8))
    }

    /// A download is not served from a cache.
    @Test func transfersSendTheirRequest() async throws {
      let server = try LoopbackServer(script: .ok("server"))
      let request = try request(server, .returnCacheDataElseLoad, isStored: true)
      for kind in CallKind.transfers where kind != .upload {
        #expect(try await kind.response(to: request, on: session).data == Data("server".utf8))
      }
    }
  }
#endif
