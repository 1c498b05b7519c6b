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
    var perform: @Sendable (URLSession, URL) async -> Bool = { _, _ in false }
    var start: (@Sendable (URLSession, URL, @escaping @Sendable (Bool) -> Void) -> Void)?
    /// The same with a client, which the calls of a round share.
    var performOnClient: (@Sendable (NetworkClient, URL) async -> Bool)?
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
      await bareItem(session, url, ["Accept": "application/json"])
    },
    Form(name: "await load", against: 4) { session, url in
      (try? await session.load(ItemEndpoint(port: url.port))) != nil
    },
    Form(name: "await load, ad hoc", against: 4) { session, url in
      (try? await session.load(.get(url, as: Item.self))) != nil
    },
    Form(name: "dataTask with a field, awaited", against: 7) { session, url in
      await bareData(session, request(url, fieldsOfClient)) != nil
    },
    Form(
      name: "await client.performNetworkRequest", against: 7,
      performOnClient: { client, url in (try? await client.performNetworkRequest(url)) != nil }),
    Form(name: "dataTask with a field, decoded", against: 9) { session, url in
      await bareItem(session, url, ["Accept": "application/json"].merging(fieldsOfClient) { $1 })
    },
    Form(
      name: "await client.load, ad hoc", against: 9,
      performOnClient: { client, _ in (try? await client.load(.get("/40", as: Item.self))) != nil }),
  ]

  static let fieldsOfClient = ["User-Agent": "Benchmarks/1.0"]

  /// The request that the form sends, so that the cost of a field is not taken for that of the layer.
  static func request(_ url: URL, _ fields: [String: String]) -> URLRequest {
    var request = URLRequest(url: url)
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    return request
  }

  static func bareItem(_ session: URLSession, _ url: URL, _ fields: [String: String]) async -> Bool {
    let data = await bareData(session, request(url, fields))
    return data.flatMap { try? JSONDecoder().decode(Item.self, from: $0) } != nil
  }

  static func bare(_ session: URLSession, _ url: URL) async -> Bool {
    await bareData(session, URLRequest(url: url)) != nil
  }

  static func bareData(_ session: URLSession, _ request: URLRequest) async -> Data? {
    await withCheckedContinuation { continuation in
      session.dataTask(with: request) { data, _, _ in continuation.resume(returning: data) }.resume()
    }
  }

  static func run(rounds: Int) throws {
    let server = try ServerProcess()
    print(
      "form, bytes, at once                            time (95 %)              processor (95 %)     allocations  locks"
    )
    for (size, width, calls) in [(40, 1, 400), (40, 64, 640), (1_000_000, 1, 16), (1_000_000, 64, 128)] {
      let forms = size == 40 ? forms : Array(forms.prefix(4))
      var costs = forms.map { _ in [[Double]]() }
      let url = server.url.appendingPathComponent("\(size)").absoluteString
      for round in 0..<rounds {
        let output = try ServerProcess.output(of: ["round", "\(calls)", "\(width)", url, "\(forms.count)", "\(round)"])
        for (form, line) in output.split(separator: "\n").enumerated() where form < forms.count {
          costs[form].append(line.split(separator: " ").compactMap { Double($0) })
        }
      }
      for (form, cost) in zip(forms, costs) {
        let base = costs[form.against]
        let wall = Median(zip(cost, base).map { $0[0] / $1[0] })
        let processor = Median(zip(cost, base).map { $0[1] / $1[1] })
        print(
          "\(form.name), \(size), \(width)".padding(toLength: 46, withPad: " ", startingAt: 0)
            + String(
              format: "%8.1f µs  %.3f (%.3f–%.3f)  %.3f (%.3f–%.3f)  %8.1f  %6.1f",
              Median(cost.map { $0[0] / Double(calls) * 1e6 }).value, wall.value, wall.low, wall.high, processor.value,
              processor.low, processor.high, Median(cost.map { $0[2] }).value, Median(cost.map { $0[3] }).value))
      }
    }
  }

  /// One round, in a process of its own: where its code and data happen to lie makes more of a difference than what it
  /// does. The forms take turns, twenty calls at a time, because the speed of a machine changes within a second. Prints
  /// seconds, seconds of processor, allocations and locks a call for each form.
  static func round(_ arguments: [String]) async {
    let numbers = arguments.compactMap { Int($0) }
    guard numbers.count == 4, arguments.count == 5, let url = URL(string: arguments[2]) else { return }
    let (calls, width, count, round) = (numbers[0], numbers[1], numbers[2], numbers[3])
    let sessions = (0..<count).map { _ in session() }
    let clients = sessions.map {
      NetworkClient(baseURL: url.deletingLastPathComponent(), on: $0, headers: fieldsOfClient)
    }
    func perform(_ form: Int, _ calls: Int) async {
      await Self.perform(forms[form], sessions[form], clients[form], url, calls, width)
    }
    let slice = max(width, min(calls, 20))
    var costs = [Cost](repeating: Cost(), count: count)
    for turn in 0...calls / slice {
      for position in 0..<count {
        // The order alternates, so that none is always measured first.
        let form = (position + turn + round) % count
        let cost = await Cost.of { await perform(form, slice) }
        // The first turn makes the connections.
        if turn > 0 { costs[form] += cost }
      }
    }
    var lines: [String] = []
    for form in 0..<count {
      let counts = await Cost.counts(per: slice) { await perform(form, slice) }
      lines.append("\(costs[form].wall) \(costs[form].processor) \(counts.allocations) \(counts.locks)")
    }
    print(lines.joined(separator: "\n"))
  }

  static func session() -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    return URLSession(configuration: configuration)
  }

  private static func perform(
    _ form: Form, _ session: URLSession, _ client: NetworkClient, _ url: URL, _ calls: Int, _ width: Int
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<width {
        group.addTask {
          if let start = form.start {
            await withCheckedContinuation { continuation in
              chain(calls / width, { start(session, url, $0) }, continuation)
            }
          } else {
            for _ in 0..<calls / width {
              let isGood =
                if let onClient = form.performOnClient { await onClient(client, url) } else {
                  await form.perform(session, url)
                }
              if !isGood { print("failed") }
            }
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
