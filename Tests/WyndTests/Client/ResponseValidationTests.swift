import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The app decides which responses are errors, and whether they are retried.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ResponseValidationTests {
  static func send(
    _ steps: [NetworkScript.Step], _ validation: ResponseValidation, method: String = "GET"
  ) async throws -> (sends: Int, error: NetworkError?) {
    let script = NetworkScript(steps)
    let client = NetworkClient(on: script, middleware: [validation])
    let request = URLRequest(url: try #require(URL(string: "https://a.example/")), method: method)
    do throws(NetworkError) {
      _ = try await client.performNetworkRequest(request, maxRetries: 3)
      return (script.requests.count, nil)
    } catch {
      return (script.requests.count, error)
    }
  }
  static func reason(_ error: NetworkError?) -> String? {
    switch error {
    case .generalError(let error): (error as? InvalidResponse)?.reason
    case .inaccessible(let failure): reason(failure.lastError)
    default: nil
    }
  }

  static let rows: [(NetworkScript.Step, ResponseValidation, String?)] = [
    (.ok("x"), ResponseValidation(statusCodes: 200..<300), nil),
    (.status(304), ResponseValidation(statusCodes: 200..<300), "status 304"),
    (
      .ok("{}", headers: ["Content-Type": "application/json; charset=utf-8"]),
      ResponseValidation(contentTypes: ["Application/JSON"]), nil
    ),
    (
      .ok("<", headers: ["Content-Type": "text/html"]), ResponseValidation(contentTypes: ["application/json"]),
      "content type text/html"
    ),
    (.ok("x", headers: ["Content-Type": "image/png"]), ResponseValidation(contentTypes: ["image/*"]), nil),
    (
      .ok("x", headers: ["Content-Type": "images/png"]), ResponseValidation(contentTypes: ["image/*"]),
      "content type images/png"
    ),
    (.ok("x"), ResponseValidation(contentTypes: ["image/*"]), "content type "),
    (.status(204), ResponseValidation(contentTypes: ["image/*"]), nil),
    (.status(201, "x"), ResponseValidation(statusCodes: 200..<201), "status 201"),
    (
      .status(201, "x", headers: ["Content-Type": "a/b"]),
      ResponseValidation(statusCodes: 200..<201, contentTypes: ["c/d"]) { _ in "no good" }, "status 201"
    ),
    (
      .status(200, "x", headers: ["Content-Type": "a/b"]),
      ResponseValidation(statusCodes: 200..<201, contentTypes: ["a/b"]) { _ in "no good" }, "no good"
    ),
    (.ok("{\"error\":1}"), ResponseValidation { $0.data.count > 5 ? "an error" : nil }, "an error"),
  ]

  @Test(arguments: rows) func failsForUnacceptableResponsesWithoutARetry(
    _ step: NetworkScript.Step, _ validation: ResponseValidation, _ reason: String?
  ) async throws {
    let (sends, error) = try await Self.send([step, .ok("x")], validation)
    #expect(Self.reason(error) == reason)
    #expect((error == nil) == (reason == nil))
    #expect(sends == 1)
  }

  @Test func retriesUnacceptableResponsesMarkedRetryable() async throws {
    let validation = ResponseValidation(isRetryable: true) { $0.data == Data("busy".utf8) ? "busy" : nil }
    let recovered = try await Self.send([.ok("busy"), .ok("busy"), .ok("x")], validation)
    #expect(recovered.sends == 3 && recovered.error == nil)
    let failed = try await Self.send([.ok("busy")], validation)
    #expect(failed.sends == 4 && Self.reason(failed.error) == "busy")
    #expect(failed.error?.stopReason == .maxRetries)
  }

  @Test func doesNotRetryAPOSTWithAnUnacceptableResponse() async throws {
    let validation = ResponseValidation(isRetryable: true) { _ in "busy" }
    #expect(try await Self.send([.ok("busy")], validation, method: "POST").sends == 1)
  }

  @Test func errorHasTheResponse() async throws {
    for isRetryable in [true, false] {
      let validation = ResponseValidation(isRetryable: isRetryable) { $0.data == Data("x".utf8) ? "bad" : nil }
      let (_, error) = try await Self.send([.status(203, "x")], validation, method: "POST")
      let invalid = try #require(Self.invalid(error))
      #expect(invalid.response.data == Data("x".utf8) && invalid.response.statusCode == 203)
      #expect(invalid.shouldRetry == isRetryable)
      #expect("\(invalid)" == "not acceptable: bad: 203 from https://a.example/, 1 bytes")
      #expect(error?.statusCode == 203 && error?.data == Data("x".utf8))
      let line = "The request failed: not acceptable: bad: 203 from "
      #expect("\(try #require(error))".hasPrefix(line))
    }
  }

  static func invalid(_ error: NetworkError?) -> InvalidResponse? {
    switch error {
    case .generalError(let error): error as? InvalidResponse
    case .inaccessible(let failure): invalid(failure.lastError)
    default: nil
    }
  }

  /// The reason may quote the server.
  @Test func describesTheReasonInOneLine() async throws {
    let reason = "bad\n[1] GET https://a.example/ forged" + String(repeating: "x", count: 1000)
    let (_, error) = try await Self.send([.ok("x")], ResponseValidation { _ in reason })
    let text = "\(try #require(error))"
    #expect(text.contains("bad [1] GET") && !text.contains("\n") && text.count < 400)
    #expect(Self.reason(error) == reason)
    #expect(error?.localizedDescription == "The server sent a response that cannot be used.")
  }

  /// A 304 is useful only for a request with a condition.
  @Test(arguments: [("If-None-Match", true), ("If-Modified-Since", true), ("If-Match", false), ("X-A", false)])
  func acceptsA304ToAConditionalRequestOnly(_ field: String, _ passes: Bool) async throws {
    let script = NetworkScript([.status(304)])
    let client = NetworkClient(
      on: script, middleware: [ResponseValidation(statusCodes: 200..<300) { _ in "empty" }])
    var request = URLRequest(url: try #require(URL(string: "https://a.example/")))
    request.setValue("x", forHTTPHeaderField: field)
    let response = try? await client.networkResponse(for: request, allowEmptyData: true)
    #expect((response?.response.statusCode == 304) == passes)
  }

  /// An error response is not validated.
  @Test func doesNotValidateErrorStatuses() async throws {
    let (_, error) = try await Self.send([.status(404)], ResponseValidation(statusCodes: 200..<300) { _ in "no good" })
    guard case .endpointError(let response, _) = error else { Issue.record("\(String(describing: error))"); return }
    #expect(response.statusCode == 404)
  }
}
