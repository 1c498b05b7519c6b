import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A middleware may be a closure: it changes requests, and rejects responses that the app does not accept.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct ClosureMiddlewareTests {
  /// Why a response is not acceptable, and whether a retry may help.
  struct Rejected: RetryableError {
    var shouldRetry: Bool
  }

  /// Rejects a body with an error in it, as the article about middleware shows.
  static func rejecting(_ text: String, isRetryable: Bool) -> NetworkClosureMiddleware {
    .around { request, next in
      let response = try await next(request)
      if response.data != Data(text.utf8) { return response }
      let rejected = Rejected(shouldRetry: isRetryable)
      throw NetworkError.middlewareError(rejected, .endpointError(response.response, response.data))
    }
  }

  static func send(
    _ steps: [NetworkScript.Step], _ middleware: NetworkClosureMiddleware, method: String = "GET"
  ) async throws -> (sends: Int, error: NetworkError?) {
    let script = NetworkScript(steps)
    let client = NetworkClient(on: script, middleware: [middleware])
    let request = URLRequest(url: .example, method: method)
    do throws(NetworkError) {
      _ = try await client.performNetworkRequest(request, maxRetries: 3)
      return (script.requests.count, nil)
    } catch {
      return (script.requests.count, error)
    }
  }

  @Test func changesEachAttemptInTheOrderOfTheClient() async throws {
    let script = NetworkScript([.status(503), .ok("x")])
    let client = NetworkClient(
      on: script,
      middleware: [
        .around { request, next in
          var request = request
          request.setValue("a", forHTTPHeaderField: "X-A")
          return try await next(request)
        },
        .around { request, call, next in
          var request = request
          request.setValue((request.value(forHTTPHeaderField: "X-A") ?? "") + "b", forHTTPHeaderField: "X-A")
          request.setValue("\(call.isTransfer)", forHTTPHeaderField: "X-Transfer")
          return try await next(request)
        },
      ])
    let url = URL.example
    #expect(try await client.performNetworkRequest(url) == Data("x".utf8))
    #expect(script.values(of: "X-A") == ["ab", "ab"])
    #expect(script.values(of: "X-Transfer") == ["false", "false"])
  }

  /// The check of the article about middleware: a type has no case, and may have parameters (RFC 9110 §8.3.1).
  @Test(arguments: [
    ("application/json", true), ("Application/JSON", true), ("APPLICATION/json; charset=UTF-8", true),
    ("application/json-seq", false), ("application/jsonl", false),
    ("application/problem+json", false), ("text/html; type=application/json", false),
  ])
  func comparesTheTypeOfAResponse(_ type: String, _ isJSON: Bool) async throws {
    let script = NetworkScript([.ok("{}", headers: ["Content-Type": type])])
    let client = NetworkClient(
      on: script,
      middleware: [
        .around { request, next in
          let response = try await next(request)
          if response.response.mimeType == "application/json" { return response }
          throw Rejected(shouldRetry: false)
        }
      ])
    #expect((try? await client.performNetworkRequest(URL.example)) == (isJSON ? Data("{}".utf8) : nil))
  }

  @Test func respondsWithoutSending() async throws {
    let url = URL.example
    let response = try await NetworkScript([.ok("made")]).networkResponse(for: url)
    let script = NetworkScript([.dropped])
    let client = NetworkClient(on: script, middleware: [.around { _, _ in response }])
    #expect(try await client.performNetworkRequest(url) == Data("made".utf8))
    #expect(script.requests.isEmpty)
  }

  @Test func rejectedResponseIsRequestedAgainOnlyIfItsErrorSaysSo() async throws {
    let recovered = try await Self.send(
      [.ok("busy"), .ok("busy"), .ok("x")], Self.rejecting("busy", isRetryable: true))
    #expect(recovered.sends == 3 && recovered.error == nil)
    let failed = try await Self.send([.ok("busy")], Self.rejecting("busy", isRetryable: true))
    #expect(failed.sends == 4 && failed.error?.stopReason == .maxRetries)
    let final = try await Self.send([.ok("busy"), .ok("x")], Self.rejecting("busy", isRetryable: false))
    #expect(final.sends == 1 && final.error != nil)
  }

  @Test func rejectedResponseOfAPOSTIsNotRequestedAgain() async throws {
    #expect(try await Self.send([.ok("busy")], Self.rejecting("busy", isRetryable: true), method: "POST").sends == 1)
  }

  @Test func errorHasTheRejectedResponse() async throws {
    for isRetryable in [true, false] {
      let middleware = Self.rejecting("x", isRetryable: isRetryable)
      let (_, error) = try await Self.send([.status(203, "x")], middleware, method: "POST")
      #expect(error?.statusCode == 203 && error?.data == Data("x".utf8))
    }
  }

  /// For example because the user has closed a page.
  @Test func cancellationErrorOfAMiddlewareIsACancellation() async throws {
    let (sends, error) = try await Self.send([.ok("x")], .around { _, _ in throw CancellationError() })
    #expect(sends == 0 && error?.isCancellation == true)
  }
}
