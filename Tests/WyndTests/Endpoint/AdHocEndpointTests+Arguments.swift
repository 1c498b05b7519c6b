import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Each function passes on each of its arguments.
extension AdHocEndpointTests {
  static let key = UUID()
  static let never = RetryPolicy.never
  /// As an app has it.
  static let ofApp = ["X-A": "1"]
  static let calls: [any Endpoint] = [
    AdHocEndpoint<Int>.get("/a", headers: ["X-A": "1", "X-B": nil], policy: never, timeout: 5, as: Int.self),
    AdHocEndpoint<Void>.get("/a", headers: ofApp, policy: never, timeout: 5),
    AdHocEndpoint<Int>.get("/a", query: .items([]), headers: ["X-A": "1"], policy: never, timeout: 5, as: Int.self),
    AdHocEndpoint<Void>.get("/a", query: .items([]), headers: ["X-A": "1"], policy: never, timeout: 5),
    AdHocEndpoint<HTTPURLResponse>.head("/a", headers: ["X-A": "1"], policy: never, timeout: 5),
    AdHocEndpoint<Int>.put("/a", headers: ["X-A": "1"], policy: never, timeout: 5, as: Int.self),
    AdHocEndpoint<Void>.put("/a", headers: ["X-A": "1"], policy: never, timeout: 5),
    AdHocEndpoint<Int>.delete("/a", headers: ["X-A": "1"], policy: never, timeout: 5, as: Int.self),
    AdHocEndpoint<Void>.delete("/a", headers: ["X-A": "1"], policy: never, timeout: 5),
  ]
  static let callsWithAKey: [any Endpoint] = [
    AdHocEndpoint<Int>.post(
      "/a", headers: ["X-A": "1"], idempotencyKey: key, policy: never, timeout: 5, as: Int.self),
    AdHocEndpoint<Void>.post("/a", headers: ["X-A": "1"], idempotencyKey: key, policy: never, timeout: 5),
    AdHocEndpoint<Int>.patch(
      "/a", headers: ["X-A": "1"], idempotencyKey: key, policy: never, timeout: 5, as: Int.self),
    AdHocEndpoint<Void>.patch("/a", headers: ["X-A": "1"], idempotencyKey: key, policy: never, timeout: 5),
    AdHocEndpoint<Int>.request(
      "LOCK", "/a", headers: ["X-A": "1"], idempotencyKey: key, policy: never, timeout: 5, as: Int.self),
    AdHocEndpoint<Void>.request("LOCK", "/a", headers: ["X-A": "1"], idempotencyKey: key, policy: never, timeout: 5),
    AdHocEndpoint<Int>.request(
      "LOCK", "/a", query: .items([]), headers: ["X-A": "1"], idempotencyKey: key, policy: never, timeout: 5,
      as: Int.self),
    AdHocEndpoint<Void>.request(
      "LOCK", "/a", query: .items([]), headers: ["X-A": "1"], idempotencyKey: key, policy: never, timeout: 5),
  ]

  @Test func passesOnEachArgument() throws {
    for endpoint in Self.calls + Self.callsWithAKey {
      let request = try endpoint.request
      #expect(request.timeoutInterval == 5, "\(endpoint)")
      #expect(request.value(forHTTPHeaderField: "X-A") == "1", "\(endpoint)")
      #expect(endpoint.headers == Self.ofApp, "\(endpoint)")
      #expect(endpoint.policy.maxRetries == 0, "\(endpoint)")
    }
    for endpoint in Self.callsWithAKey { #expect(try endpoint.request.idempotencyKey == Self.key, "\(endpoint)") }
  }
}
