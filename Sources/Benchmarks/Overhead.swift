import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a call costs beyond the bare one.
enum Overhead {
  struct Item: Decodable { var id: Int, name: String, ok: Bool }
  struct ItemEndpoint: Endpoint {
    typealias Response = Item
    var port: Int?
    var scheme: String { "http" }
    var host: String { "127.0.0.1" }
    var path: String { "/40" }
  }

  /// How one call is made, and what it is measured against.
  struct Form: Sendable {
    var name: String
    var against: Int
    var perform: @Sendable (URLSession, URL) async -> Bool
    var start: (@Sendable (URLSession, URL, @escaping @Sendable (Bool) -> Void) -> Void)?
  }

  static let forms: [Form] = [
    Form(name: "dataTask", against: 0, perform: bare) { session, url, done in
      session.dataTask(with: URLRequest(url: url)) { data, _, _ in done(data != nil) }.resume()
    },
    Form(name: "performNetworkRequest { }", against: 0, perform: bare) { session, url, done in
      session.performNetworkRequest(url) { result in done((try? result.get()) != nil) }
    },
    Form(name: "dataTask, awaited", against: 2, perform: bare),
    Form(name: "await performNetworkRequest", against: 2) { session, url in
      (try? await session.performNetworkRequest(url)) != nil
    },
    Form(name: "dataTask, awaited, decoded", against: 4) { session, url in
      let data = await bareData(session, url)
      return data.flatMap { try? JSONDecoder().decode(Item.self, from: $0) } != nil
    },
    Form(name: "await load", against: 4) { session, url in
      (try? await session.load(ItemEndpoint(port: url.port))) != nil
    },
  ]

  static func bare(_ session: URLSession, _ url: URL) async -> Bool { await bareData(session, url) != nil }

  static func bareData(_ session: URLSession, _ url: URL) async -> Data? {
    await withCheckedContinuation { continuation in
      session.dataTask(with: URLRequest(url: url)) { data, _, _ in continuation.resume(returning: data) }.resume()
    }
  }

  static func run(rounds: Int) async throws {
    let server = try ServerProcess()
    print("form, size, at once            time (95 %)            processor (95 %)       allocations   locks")
    for (size, width, calls) in [(40, 1, 100), (40, 64, 640), (1_000_000, 1, 8), (1_000_000, 64, 128)] {
      let forms = size == 40 ? forms : Array(forms.prefix(4))
      try await table(server.url.appendingPathComponent("\(size)"), size, width, calls, rounds, forms)
    }
  }

  private static func table(_ url: URL, _ size: Int, _ width: Int, _ calls: Int, _ rounds: Int, _ forms: [Form])
    async throws
  {
    let sessions = forms.map { _ in session() }
    defer { sessions.forEach { $0.finishTasksAndInvalidate() } }
    var costs = forms.map { _ in [Cost]() }
    for round in -1..<rounds {
      for turn in forms.indices {
        // Who comes first changes, so that it gains nobody anything.
        let form = (turn + max(0, round)) % forms.count
        let cost = await Cost.of { await perform(forms[form], sessions[form], url, calls, width) }
        if round >= 0 { costs[form].append(cost) }
      }
    }
    for (index, form) in forms.enumerated() {
      let counts = await Cost.counts(per: calls) { await perform(form, sessions[index], url, calls, width) }
      let base = costs[form.against]
      let wall = Median(zip(costs[index], base).map { $0.wall / $1.wall })
      let processor = Median(zip(costs[index], base).map { $0.processor / $1.processor })
      let micro = Median(costs[index].map { $0.wall / Double(calls) * 1e6 }).value
      print(
        "\(form.name), \(size), \(width)".padding(toLength: 46, withPad: " ", startingAt: 0)
          + String(
            format: "%8.1f µs  %.3f (%.3f–%.3f)  %.3f (%.3f–%.3f)  %8.1f  %6.1f", micro, wall.value, wall.low,
            wall.high,
            processor.value, processor.low, processor.high, counts.allocations, counts.locks))
    }
  }

  static func session() -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    return URLSession(configuration: configuration)
  }

  static func perform(_ form: Form, _ session: URLSession, _ url: URL, _ calls: Int, _ width: Int) async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<width {
        group.addTask {
          if let start = form.start {
            await withCheckedContinuation { continuation in
              chain(calls / width, { start(session, url, $0) }, continuation)
            }
          } else {
            for _ in 0..<calls / width { if await !form.perform(session, url) { print("failed") } }
          }
        }
      }
    }
  }

  /// Each call starts in the handler of the one before.
  private static func chain(
    _ left: Int, _ start: @escaping @Sendable (@escaping @Sendable (Bool) -> Void) -> Void,
    _ end: CheckedContinuation<Void, Never>
  ) {
    if left == 0 { return end.resume() }
    start { isGood in
      if !isGood { print("failed") }
      chain(left - 1, start, end)
    }
  }
}
