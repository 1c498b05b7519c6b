import Combine
import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One value, failure, cancellation and demand of the publishers.
@Suite(.timeLimit(.minutes(1))) struct CombineTests {
  struct Item: Endpoint {
    struct Response: Decodable, Sendable, Equatable { var id: Int }
    let server: LoopbackServer
    var scheme: String { "http" }
    var host: String { "127.0.0.1" }
    var port: Int? { Int(server.port) }
    var path: String { "/item" }
    var policy: RetryPolicy { .quick() }
  }
  final class Seen<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [Value] = []
    func add(_ value: Value) { lock.withLock { list.append(value) } }
    var all: [Value] { lock.withLock { list } }
    func reaches(_ count: Int) async { while all.count < count { try? await Task.sleep(for: .milliseconds(1)) } }
  }
  let session = URLSession(configuration: .ephemeral)

  static func publisher(
    _ session: URLSession, _ server: LoopbackServer, maxRetries: Int? = nil, policy: RetryPolicy
  ) -> AnyPublisher<Data, NetworkError> {
    NetworkTask.publisher {
      session.performNetworkRequest(server.url(), maxRetries: maxRetries, policy: policy, completionHandler: $0)
    }
  }

  /// Records the events of a publisher as text.
  static func watch<Output>(_ publisher: AnyPublisher<Output, NetworkError>, _ seen: Seen<String>) -> AnyCancellable {
    publisher.sink { completion in
      switch completion {
      case .finished: seen.add("finished")
      case .failure(let error): seen.add("failed \(error.statusCode ?? 0)")
      }
    } receiveValue: { value in
      seen.add("\(value)")
    }
  }

  @Test func publishesOneValueAndFinishes() async throws {
    let server = try LoopbackServer { _ in .ok(#"{"id":7}"#) }
    let seen = Seen<String>()
    let call = Self.watch(Self.publisher(session, server, policy: .quick()), seen)
    await seen.reaches(2)
    #expect(seen.all == ["8 bytes", "finished"])
    let loaded = Seen<String>()
    let load = Self.watch(NetworkTask.publisher { session.load(Item(server: server), completionHandler: $0) }, loaded)
    await loaded.reaches(2)
    #expect(loaded.all == ["\(Item.Response(id: 7))", "finished"])
    withExtendedLifetime((call, load)) {}
  }

  @Test func publishesTheFailureAfterRetries() async throws {
    let server = try LoopbackServer(script: .status(503))
    let seen = Seen<String>()
    let call = Self.watch(Self.publisher(session, server, maxRetries: 2, policy: .quick()), seen)
    await seen.reaches(1)
    #expect(seen.all == ["failed 503"])
    #expect(server.requests.count == 3)
    let loaded = Seen<String>()
    let load = Self.watch(
      NetworkTask.publisher {
        session.load(Item(server: server), policy: RetryPolicy(maxRetries: 1), completionHandler: $0)
      }, loaded)
    await loaded.reaches(1)
    #expect(loaded.all == ["failed 503"])
    #expect(server.requests.count == 5)
    withExtendedLifetime((call, load)) {}
  }

  @Test func cancelingTheSubscriptionEndsTheCallSilently() async throws {
    let server = try LoopbackServer { $0.target == "/item" ? .status(503) : .hang }
    let events = Seen<String>()
    let policy = RetryPolicy(
      backoff: .constant(.seconds(3600)), maxRetryTime: .noLimit, budget: .unlimited,
      onEvent: { event in
        switch event.kind {
        case .willRetry: events.add("waits")
        case .gaveUp(let reason): events.add("\(reason)")
        default: break
        }
      })
    let seen = Seen<String>()
    let call = Self.watch(Self.publisher(session, server, policy: policy), seen)
    let load = Self.watch(
      NetworkTask.publisher { session.load(Item(server: server), policy: policy, completionHandler: $0) }, seen)
    while server.requests.count < 2 || events.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    call.cancel()
    load.cancel()
    await events.reaches(3)
    #expect(events.all.filter { $0 == "cancelled" }.count == 2)
    #expect(seen.all.isEmpty)
  }

  @Test func sendsOnSubscriptionAndDeliversOnDemand() async throws {
    let server = try LoopbackServer { _ in .ok(#"{"id":7}"#) }
    let publishers = [
      Self.publisher(session, server, policy: .quick()).map { _ in 1 }
        .eraseToAnyPublisher(),
      NetworkTask.publisher { session.load(Item(server: server), completionHandler: $0) }.map { _ in 2 }
        .eraseToAnyPublisher(),
    ]
    #expect(server.requests.isEmpty)
    for (index, publisher) in publishers.enumerated() {
      let reader = Reader()
      publisher.subscribe(reader)
      while server.requests.count <= index { try await Task.sleep(for: .milliseconds(1)) }
      #expect(reader.seen.all.isEmpty)
      reader.demand(1)
      await reader.seen.reaches(1)
      #expect(reader.seen.all == [index + 1])
    }
  }
  final class Reader: Subscriber, @unchecked Sendable {
    typealias Input = Int
    typealias Failure = NetworkError
    let seen = Seen<Int>()
    private var subscription: (any Subscription)?
    func receive(subscription: any Subscription) { self.subscription = subscription }
    func receive(_ input: Int) -> Subscribers.Demand {
      seen.add(input)
      return .none
    }
    func receive(completion: Subscribers.Completion<NetworkError>) {}
    func demand(_ count: Int) { subscription?.request(.max(count)) }
  }
}
