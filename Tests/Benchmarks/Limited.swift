import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Many clients at a server that limits its rate: each call must get its response in the end.
enum Limited {
  static func run(_ arguments: [String]) async -> Int32 {
    guard arguments.count == 2, let url = URL(string: arguments[0]), let clients = Int(arguments[1]) else { return 2 }
    let began = ContinuousClock.now
    // A few calls to a session, because a session takes a thread.
    let sessions = (0..<max(1, clients / 10)).map { _ in Overhead.session() }
    let attempts = await withTaskGroup(of: Int?.self) { group in
      for client in 0..<clients {
        group.addTask {
          let request = URLRequest(url: url)
          let policy = RetryPolicy(budget: RetryBudget())
          let session = sessions[client % sessions.count]
          return try? await session.networkResponse(for: request, policy: policy).attempts.count
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    let good = attempts.compactMap { $0 }
    let seconds = Int((ContinuousClock.now - began) / .seconds(1))
    print("\(good.count) of \(clients) have a response after \(seconds) s, with at most \(good.max() ?? 0) attempts")
    return good.count == clients ? 0 : 1
  }
}
