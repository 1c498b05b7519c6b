import Foundation
import Measurement
import Simulation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The rules without a network: time and allocations of each.
enum Parts {
  struct Query: Encodable {
    var page = 2, size = 50, sort = "name", tags = ["a", "b"], isOpen = true
  }
  struct Search: Endpoint {
    typealias Response = Data
    var host: String { "api.example.com" }
    var path: String { "/v2/items/Jürgen" }
    var queryItems: [URLQueryItem] {
      [URLQueryItem(name: "q", value: "a b&c"), URLQueryItem(name: "page", value: "2")]
    }
  }

  static func run() async {
    let parts =
      PureParts.all() + [
        ("query encoding, 5 fields", { _ = try? QueryEncoder().encode(Query()) }),
        ("URL of an endpoint", { _ = try? Search().url }),
        ("request of an endpoint", { _ = try? Search().request }),
      ]
    print("rule                                              time   allocations   locks")
    for part in parts {
      var samples: [Double] = []
      for _ in 0..<11 {
        let cost = await Cost.of { for _ in 0..<2000 { part.run() } }
        samples.append(cost.wall / 2000 * 1e9)
      }
      let counts = await Cost.counts(per: 2000) { for _ in 0..<2000 { part.run() } }
      print(
        part.name.padding(toLength: 44, withPad: " ", startingAt: 0)
          + String(format: "%7.0f ns  %9.1f  %9.1f", Median(samples).value, counts.allocations, counts.locks))
    }
  }
}
