import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One attempt on a real socket, on an ordinary session: errors, time-outs and connections.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct TransportTests {
  let session = URLSession(configuration: .default)

  // MARK: Faults

  static let faults: [(String, ScriptedResponse, URLError.Code)] = [
    ("FIN before the response", .close, .networkConnectionLost),
    ("RST before the response", .reset, .networkConnectionLost),
    ("RST in the body", .resetInBody, .networkConnectionLost),
    ("length cut short", .truncated, .networkConnectionLost),
    ("last chunk missing", .truncatedChunk, .networkConnectionLost),
    ("chunk size is no number", .brokenChunk, .cannotParseResponse),
    ("not HTTP", .garbage, .cannotParseResponse),
    ("HTTP/3.7", ScriptedResponse([ScriptedResponse.text("HTTP/3.7 200 OK\r\n\r\n"), .close]), .cannotParseResponse),
    (
      "line without colon", ScriptedResponse([ScriptedResponse.text("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), .close]),
      .cannotParseResponse
    ),
    ("bad gzip", .badGzip, isOnApplePlatforms ? .cannotDecodeRawData : .cannotDecodeContentData),
    ("silence", .hang, .timedOut),
    ("silence in the body", .stall, .timedOut),
  ]

  @Test(arguments: faults) func reportsTheSameErrorOnEveryPlatform(
    _ name: String, _ response: ScriptedResponse, _ code: URLError.Code
  ) async throws {
    // URLSession takes the end of the connection for the last chunk there.
    if isOnApplePlatforms, name == "last chunk missing" { return }
    let server = try LoopbackServer(script: response)
    var request = URLRequest(url: server.url())
    request.timeoutInterval = code == .timedOut ? 0.3 : 30
    let result = await session.result(of: request, policy: .never)
    let error = result.error?.urlError
    #expect(error?.code == code, "\(name): \(String(describing: result))")
    #if canImport(FoundationNetworking)
      // Where the code was changed, URLSession's own error is kept.
      let own = error?.userInfo[NSUnderlyingErrorKey] as? URLError
      let isUnchanged = own == nil && [.timedOut, .networkConnectionLost].contains(code)
      #expect(isUnchanged || own.map { $0.code != code } == true, "\(name): \(String(describing: own))")
    #endif
  }

  @Test func reportsRefusedConnectionsAndUnknownHosts() async throws {
    let server = try LoopbackServer(isListening: false) { _ in .ok() }
    let refused = await session.result(of: server.url(), policy: .never)
    #expect(refused.error?.urlError?.code == .cannotConnectToHost)
    let url = try #require(URL(string: "http://no-such-host.invalid/"))
    let unknown = await session.result(of: url, policy: .never)
    #expect(unknown.error?.urlError?.code == .cannotFindHost)
  }

  @Test func reportsAFailedTLSHandshake() async throws {
    let server = try LoopbackServer(onConnect: { _ in .garbage }, respond: { _ in .ok() })
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    let result = await session.result(of: url, policy: .never)
    #expect(result.error?.urlError?.code == .secureConnectionFailed)
  }

  #if canImport(FoundationNetworking)
    @Test func rejectsASessionWithAnInfiniteTimeout() async throws {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = .infinity
      let server = try LoopbackServer(script: .ok())
      let result = await URLSession(configuration: configuration).result(of: server.url())
      guard case .failure(.invalidRequest) = result else { Issue.record("\(result)"); return }
      #expect(server.requests.isEmpty)
    }
  #endif

  // MARK: 401

  @Test(arguments: [
    #"Basic realm="x""#, "Basic", "Bearer", #"Digest realm="x", nonce="1""#, #"Bearer, Basic realm="x""#,
    #"Negotiate, Basic realm="x", charset="UTF-8""#, "nonsense", "",
  ])
  func returnsA401WithAnyWWWAuthenticateValue(_ challenge: String) async throws {
    let server = try LoopbackServer(script: .status(401, [("WWW-Authenticate", challenge)], body: "who are you?"))
    for authorization in [nil, "Basic dTpw"] {
      for configuration in [URLSessionConfiguration.default, .ephemeral] {
        var request = URLRequest(url: server.url())
        request.timeoutInterval = 40
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        let began = ContinuousClock.now
        let result = await URLSession(configuration: configuration).result(of: request)
        guard case .failure(.endpointError(let response, _)) = result else { Issue.record("\(result)"); return }
        #expect(response.statusCode == 401)
        #expect(ContinuousClock.now - began < .seconds(30))
      }
    }
  }

  // MARK: Dead connections

  @Test(arguments: ["POST", "PUT", "PATCH"]) func reportsADeadConnectionAtOnce(_ method: String) async throws {
    try await Turn.take {
      for end in [ScriptedResponse.close, .reset] {
        // The machine may be busy, so the best of five counts: a wait for the time-out would show in every one.
        var best = Duration.seconds(60)
        for _ in 0..<5 {
          // On Linux, only a PUT uses the connection of the first request.
          let server = try LoopbackServer { request in
            let isRepeated = method == "PUT" && request.indexOnConnection == 0
            return request.target == "/first" || isRepeated ? .ok() : end
          }
          _ = try await session.performNetworkRequest(server.url("/first"))
          let request = URLRequest(url: server.url("/second"), method: method, body: "the body")
          let policy = RetryPolicy(backoff: .immediate)
          let began = ContinuousClock.now
          let result = await session.result(of: request, maxRetries: method == "PUT" ? 1 : 10, policy: policy)
          best = min(best, ContinuousClock.now - began)
          if method == "PUT" {
            #expect(result.error == nil)
          } else {
            #expect(result.error?.urlError?.code == .networkConnectionLost)
            #expect(server.requests.filter { $0.target == "/second" && $0.isComplete }.count == 1)
          }
        }
        #expect(best < .seconds(2))
      }
    }
  }

  /// The server looks at the head and hangs up before the body: a large body is cut off in the middle.
  @Test func treatsAnInterruptedUploadAsPossiblyApplied() async throws {
    let server = try LoopbackServer(beforeBody: { _ in .reset }) { _ in .ok() }
    var request = URLRequest(url: server.url(), method: "POST")
    request.httpBody = Data(count: 8 << 20)
    let log = EventLog()
    let result = await session.result(of: request, policy: RetryPolicy(onEvent: log.add))
    #expect(result.error?.urlError?.code == .networkConnectionLost)
    #expect(log.gaveUp == .notSafeToRepeat(method: "POST"))
    #expect(server.requests.count == 1)
    // A response that arrives before the body was sent is used.
    let refusing = try LoopbackServer(
      beforeBody: { _ in
        ScriptedResponse(ScriptedResponse.status(413, [("Connection", "close")], body: "too large").steps + [.hang])
      }, respond: { _ in .ok() })
    request.url = refusing.url()
    #expect(await session.result(of: request).error?.statusCode == 413)
    #expect(refusing.requests.count == 1)
  }

  // MARK: Odd URLs

  @Test(arguments: ["example", "http://", "http:///x", "//127.0.0.1/"]) func invalidURLsFailWithoutACrash(
    _ text: String
  ) async throws {
    let url = try #require(URL(string: text))
    let result = await session.result(of: url, maxRetries: 1)
    #expect(result.error != nil)
    #expect(result.error?.stopReason == nil, "an URL that is wrong stays wrong: \(result)")
  }

  // MARK: Errors

  /// Foundation's own error is kept as the underlying error.
  @Test func normalizedErrorKeepsTheOriginal() async throws {
    let server = try LoopbackServer(script: .truncated)
    let error = try #require(await session.result(of: server.url("/x?q=1"), policy: .never).error?.urlError)
    #expect(error.code == .networkConnectionLost)
    #expect((error.userInfo[NSURLErrorFailingURLErrorKey] as? URL)?.path == "/x")
    #if canImport(FoundationNetworking)
      let original = try #require(error.userInfo[NSUnderlyingErrorKey] as? URLError)
      #expect(original.code == .unknown)
      #expect(original.userInfo[NSLocalizedDescriptionKey] as? String == error.localizedDescription)
    #endif
  }

  @Test func rejectsAFileURL() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "folder-\(UUID().uuidString)")
    try Data("text".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let log = EventLog()
    let error = await session.result(of: URLRequest(url: file), policy: RetryPolicy(onEvent: log.add)).error
    #expect(error != nil && error?.shouldRetry == false && error?.response == nil)
    #expect(log.gaveUp == .notRetryable)
  }
}
