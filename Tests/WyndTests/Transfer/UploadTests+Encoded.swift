import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension UploadTests {
  // MARK: Bodies that are encoded

  struct Note: Encodable { var firstName = "B" }

  @Test func uploadsEncodedBodiesWithTheirTypes() async throws {
    let rows: [(RequestBody, String, String)] = [
      (.json(Note()), "application/json", #"{"firstName":"B"}"#),
      (.json(["a": [1, nil]]), "application/json", #"{"a":[1,null]}"#),
      (.form(["a": 1, "b": "x y"]), "application/x-www-form-urlencoded", "a=1&b=x+y"),
      (.text("ü"), "text/plain; charset=utf-8", "ü"),
      (.data(Data("x".utf8), contentType: "image/png"), "image/png", "x"),
      (.data(Data("x".utf8)), "application/octet-stream", "x"),
    ]
    for (body, type, text) in rows {
      let server = try LoopbackServer(script: .status(503), .ok())
      _ = try await upload(server.url(), from: body).get()
      #expect(server.requests.map(\.text) == [text, text], "\(text)")
      #expect(server.requests.allSatisfy { $0.value("Content-Type") == type }, "\(text)")
      _ = try await upload(server.url(), from: body, ["Content-Type": "text/x-own"]).get()
      #expect(server.requests.last?.value("Content-Type") == "text/x-own", "\(text)")
    }
  }

  @Test func encodesAnUploadWithTheEncoderOfTheClient() async throws {
    let server = try LoopbackServer(script: .ok())
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let client = NetworkClient(baseURL: server.url(), encoder: encoder)
    let request = URLRequest(url: server.url("/notes"), method: "POST")
    try await client.performNetworkUpload(request, from: .json(Note()))
    #expect(server.requests.first?.text == #"{"first_name":"B"}"#)
  }

  @Test func sendsNothingIfTheBodyOfAnUploadIsNotValid() async throws {
    let server = try LoopbackServer(script: .ok())
    for body: RequestBody in [.json(Double.nan), .data(Data(), contentType: "a\r\nX-Evil: 1"), .form("text")] {
      guard case .failure(.invalidRequest(let reason)) = await upload(server.url(), from: body) else {
        Issue.record("sent")
        continue
      }
      #expect(!reason.isEmpty)
    }
    #expect(server.requests.isEmpty)
  }
}
