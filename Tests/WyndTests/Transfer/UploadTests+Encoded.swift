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

  @Test func encodesAnUploadWithTheEncoderOfTheClient() async throws {
    let server = try LoopbackServer(script: .ok())
    let client = NetworkClient(baseURL: server.url(), encoder: .snakeCase)
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
