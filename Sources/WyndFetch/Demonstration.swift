import Foundation
import Wynd
import WyndLoopbackServer

/// A request to a server in this process that misbehaves three times.
enum Demonstration {
  static func run() async -> Int32 {
    // A proxy cannot reach this process.
    for name in ["no_proxy", "NO_PROXY"] { setenv(name, "127.0.0.1", 1) }
    do {
      let server = try LoopbackServer(
        script: ScriptedResponse(ScriptedResponse.status(503, [("Retry-After", "1")], body: "busy").steps + [.close]),
        .reset, .truncated,
        .ok("Here is your data.\n"))
      Console.say(
        "A server on 127.0.0.1:\(server.port) will send 503, reset a connection, cut a response short, and then work.\n"
      )
      var policy = RetryPolicy.default
      policy.onEvent = { Console.say(line(for: $0)) }
      let response = try await URLSession.shared.networkResponse(
        for: URLRequest(url: server.url("/data")), policy: policy)
      Console.say("\n\(String(decoding: response.data, as: UTF8.self))")
      Console.say("\(response.attempts.count) attempts, and the data is complete.\n")
      Console.say("With a URL, it sends a request of yours.\n\n\(Command.usage)")
      return 0
    } catch {
      Console.note("\(error)")
      return 1
    }
  }

  static func line(for event: NetworkEvent) -> String {
    let time = String(format: "%5.2f s", event.elapsed / .seconds(1))
    switch event.kind {
    case .attemptStarted: return "\(time)  #\(event.attempt)  \(event.request.httpMethod ?? "GET") is sent"
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
