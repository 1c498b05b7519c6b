#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import Wynd

  /// The moment when an attempt creates its URLSession task.
  @Suite struct LinuxAttemptTests {
    /// Cancels an attempt, on another thread, while it creates its task.
    private final class Interrupting: URLSession, @unchecked Sendable {
      let reply = NetworkReply()
      let endedFirst = Box(false)

      override func dataTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
      ) -> URLSessionDataTask {
        let hasEnded = DispatchSemaphore(value: 0)
        DispatchQueue.global().async { [reply] in
          reply.cancel()
          hasEnded.signal()
        }
        endedFirst.value = hasEnded.wait(timeout: .now() + .milliseconds(200)) == .success
        return super.dataTask(with: request, completionHandler: completionHandler)
      }
    }

    /// The caller may invalidate the session right after it canceled the attempt.
    @Test func cancelWaitsForATaskThatIsBeingCreated() async throws {
      let session = Interrupting(configuration: .ephemeral)
      let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
      let outgoing = NetworkOutgoing(request: request, isInsideCall: true)
      NetworkSessionTransport(session: session).start(outgoing, session.reply)
      let outcome = await session.reply.outcome()
      #expect(outcome.end == .cancelled && session.endedFirst.value == false)
    }

    /// Counts the tasks that are created.
    private final class Counting: URLSession, @unchecked Sendable {
      let tasks = Counter()
      override func dataTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
      ) -> URLSessionDataTask {
        tasks.add()
        return super.dataTask(with: request, completionHandler: completionHandler)
      }
    }

    /// Its request would reach the server.
    @Test func canceledAttemptCreatesNoTaskOnAValidSession() async throws {
      let session = Counting(configuration: .ephemeral)
      let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
      let reply = NetworkReply()
      reply.cancel()
      NetworkSessionTransport(session: session).start(NetworkOutgoing(request: request, isInsideCall: true), reply)
      #expect(session.tasks.value == 0)
    }

    /// A task cannot be created on a session that was invalidated: URLSession would crash.
    @Test func canceledAttemptCreatesNoTask() async throws {
      let session = URLSession(configuration: .ephemeral)
      let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
      let reply = NetworkReply()
      reply.cancel()
      session.invalidateAndCancel()
      let outgoing = NetworkOutgoing(request: request, isInsideCall: true)
      NetworkSessionTransport(session: session).start(outgoing, reply)
      #expect(await reply.outcome().end == .cancelled)
    }
  }
#endif
