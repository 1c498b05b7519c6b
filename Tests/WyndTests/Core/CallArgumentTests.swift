import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Every form of every call uses its `policy` argument, and its `maxRetries` if it has one.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct CallArgumentTests {
  struct Item: Endpoint {
    typealias Response = Data
    var host: String { "a.example" }
    var path: String { "/" }
  }
  struct Form: Sendable, CustomTestStringConvertible {
    var name: String
    /// Whether it has an argument `maxRetries`.
    var hasLimit = true
    var call: @Sendable (any NetworkPerformer, URLRequest, URL, Int?, RetryPolicy) async -> Bool
    var testDescription: String { name }
  }

  /// Whether the call of a form with a completion handler fails.
  static func fails<Value: Sendable>(
    _ start: (@escaping @Sendable (Result<Value, NetworkError>) -> Void) -> NetworkTask
  ) async -> Bool {
    await handlerValue(start).error != nil
  }
  static func fails(_ call: () async throws -> Void) async -> Bool {
    do { try await call() } catch { return true }
    return false
  }

  static let forms: [Form] = [
    Form(name: "performNetworkRequest(URL)") { on, request, _, limit, policy in
      await fails {
        _ = try await on.performNetworkRequest(try #require(request.url), maxRetries: limit, policy: policy)
      }
    },
    Form(name: "performNetworkRequest") { on, request, _, limit, policy in
      await fails { _ = try await on.performNetworkRequest(request, maxRetries: limit, policy: policy) }
    },
    Form(name: "performNetworkRequest(URL) { }") { on, request, _, limit, policy in
      guard let url = request.url else { return false }
      return await fails {
        on.performNetworkRequest(url, maxRetries: limit, policy: policy, completionHandler: $0)
      }
    },
    Form(name: "performNetworkRequest { }") { on, request, _, limit, policy in
      await fails { on.performNetworkRequest(request, maxRetries: limit, policy: policy, completionHandler: $0) }
    },
    Form(name: "networkResponse") { on, request, _, limit, policy in
      await fails { _ = try await on.networkResponse(for: request, maxRetries: limit, policy: policy) }
    },
    Form(name: "networkResponse { }") { on, request, _, limit, policy in
      await fails { on.networkResponse(for: request, maxRetries: limit, policy: policy, completionHandler: $0) }
    },
    Form(name: "load", hasLimit: false) { on, _, _, _, policy in
      await fails { _ = try await on.load(Item(), policy: policy) }
    },
    Form(name: "load { }", hasLimit: false) { on, _, _, _, policy in
      await fails { on.load(Item(), policy: policy, completionHandler: $0) }
    },
    Form(name: "loadResponse", hasLimit: false) { on, _, _, _, policy in
      await fails { _ = try await on.loadResponse(Item(), policy: policy) }
    },
    Form(name: "loadResponse { }", hasLimit: false) { on, _, _, _, policy in
      await fails { on.loadResponse(Item(), policy: policy, completionHandler: $0) }
    },
    Form(name: "load(as:)", hasLimit: false) { on, request, _, _, policy in
      await fails { _ = try await on.load(request, as: Int.self, policy: policy) }
    },
    Form(name: "load(as:) { }", hasLimit: false) { on, request, _, _, policy in
      await fails { on.load(request, as: Int.self, policy: policy, completionHandler: $0) }
    },
    Form(name: "performNetworkDownload", hasLimit: false) { on, request, file, _, policy in
      await fails { _ = try await on.performNetworkDownload(request, to: file, policy: policy) }
    },
    Form(name: "performNetworkDownload { }", hasLimit: false) { on, request, file, _, policy in
      await fails {
        on.performNetworkDownload(request, to: file, policy: policy, completionHandler: $0)
      }
    },
    Form(name: "performNetworkUpload", hasLimit: false) { on, request, _, _, policy in
      await fails {
        _ = try await on.performNetworkUpload(request, from: .data(Data()), policy: policy)
      }
    },
    Form(name: "performNetworkUpload { }", hasLimit: false) { on, request, _, _, policy in
      await fails {
        on.performNetworkUpload(
          request, from: .data(Data()), policy: policy, completionHandler: $0)
      }
    },
    Form(name: "networkBytes", hasLimit: false) { on, request, _, _, policy in
      await fails { _ = try await on.networkBytes(for: request, policy: policy) }
    },
    Form(name: "serverSentEvents", hasLimit: false) { on, request, _, _, policy in
      await fails { for try await _ in on.serverSentEvents(for: request, policy: policy) {} }
    },
  ]

  @Test(arguments: forms, [true, false])
  func everyCallFormAppliesItsMaxRetriesAndPolicyArguments(_ form: Form, isClient: Bool) async throws {
    let folder = try Folder()
    let request = URLRequest(url: .example)
    let rows: [(limit: Int?, policy: RetryPolicy, sends: Int)] = [
      (0, .default, 1), (3, .default, 4), (nil, RetryPolicy(maxRetries: 1), 2), (2, RetryPolicy(maxRetries: 1), 3),
      (nil, RetryPolicy(maxRetries: 5, shouldRetry: { _ in false }), 1),
    ]
    for row in rows where form.hasLimit || row.limit == nil {
      let script = NetworkScript([.dropped])
      let performer: any NetworkPerformer =
        isClient ? NetworkClient(on: script, policy: RetryPolicy(maxRetries: 7)) : script
      #expect(await form.call(performer, request, folder.file(), row.limit, row.policy), "\(form.name)")
      #expect(script.requests.count == row.sends, "\(form.name): \(row.limit as Any)")
    }
  }
}
