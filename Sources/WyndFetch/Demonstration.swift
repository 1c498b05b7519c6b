import Foundation
import Wynd
import WyndLoopbackServer

/// Requests to a server in this process that misbehaves: a GET that is repeated, and a POST that is repeated only with an
/// Idempotency-Key.
enum Demonstration {
  static func run() async -> Int32 {
    // A proxy cannot reach this process.
    for name in ["no_proxy", "NO_PROXY"] { setenv(name, "127.0.0.1", 1) }
    do {
      let server = try LoopbackServer(
        script: ScriptedResponse(ScriptedResponse.status(503, [("Retry-After", "1")], body: "busy").steps + [.close]),
        .reset, .truncated, .ok("Here is your data.\n"), .reset, .reset, .ok("Your order is placed.\n"))
      Console.say("A server on 127.0.0.1:\(server.port) misbehaves.\n")
      let get = URLRequest(url: server.url("/data"))
      let response = try await send(
        get, to: ["responds with 503", "resets the connection", "cuts its response short", "works"])
      Console.say("\n\(String(decoding: response.data, as: UTF8.self))")
      Console.say("\(response.attempts.count) attempts, and the data is complete.\n")

      var post = URLRequest(url: server.url("/orders"))
      post.httpMethod = "POST"
      post.httpBody = Data("{}".utf8)
      Console.say("A POST is not repeated after a lost connection, because the server may have placed the order:\n")
      do throws(NetworkError) {
        _ = try await send(post, to: ["resets the connection"])
      } catch {
        Console.say("\n\(error.localizedDescription)\n")
      }
      Console.say("With an Idempotency-Key, the server can recognize the repetition:\n")
      post.idempotencyKey = UUID()
      let order = try await send(post, to: ["resets the connection", "works"])
      Console.say("\n\(String(decoding: order.data, as: UTF8.self))")
      Console.say("With a URL, it sends a request of yours.\n\n\(Command.usage)")
      return 0
    } catch {
      Console.note("\(error)")
      return 1
    }
  }

  /// Sends a request, and shows what the server does to each attempt.
  private static func send(
    _ request: URLRequest, to deeds: [String]
  ) async throws(NetworkError) -> NetworkResponse<Data> {
    var policy = RetryPolicy.default
    policy.onEvent = { event in
      let deed = deeds.indices.contains(event.attempt - 1) ? deeds[event.attempt - 1] : "works"
      Console.say(line(for: event, deed))
    }
    return try await URLSession.shared.networkResponse(for: request, policy: policy)
  }

  private static func line(for event: NetworkEvent, _ deed: String) -> String {
    let time = String(format: "%5.2f s", event.elapsed / .seconds(1))
    switch event.kind {
    case .attemptStarted:
      return "\(time)  #\(event.attempt)  \(event.request.httpMethod ?? "GET") is sent; the server \(deed)"
    case .attemptFailed(let error, let safety):
      return "\(time)     ✗ \(error)\n             \(safety.isSafe ? "may" : "must not") be repeated: \(safety)"
    case .willRetry(let delay, let source):
      let reason = if case .server(let field) = source { "as the server asked (\(field))" } else { "by backoff" }
      return String(format: "             waits %.2f s, \(reason)", delay / .seconds(1))
    case .succeeded(let status): return "\(time)     ✓ \(status)"
    case .undecodable(let error): return "\(time)     ✗ \(error)"
    case .gaveUp(let reason): return "\(time)     gave up: \(reason)"
    }
  }
}
