import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URL {
  static let example = URL(string: "https://a.example/") ?? URL(fileURLWithPath: "/")
}

extension URLRequest {
  init(url: URL, method: String, body: String? = nil) {
    self.init(url: url)
    httpMethod = method
    if let body { httpBody = Data(body.utf8) }
  }

  /// The body, which is empty if there is none.
  var text: String { httpBody?.text ?? "" }
}

extension HTTPURLResponse {
  static func made(
    _ status: Int = 200, _ fields: [String: String]? = nil, url: URL = .example
  ) throws -> HTTPURLResponse {
    try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
  }
}

extension LoopbackServer {
  /// The value of a header field in each request.
  func values(of field: String) -> [String?] { requests.map { $0.value(field) } }
}

extension NetworkScript {
  /// The value of a header field in each request.
  func values(of field: String) -> [String?] { requests.map { $0.value(forHTTPHeaderField: field) } }
}

extension Sequence<UInt8> {
  var text: String { String(decoding: Array(self), as: UTF8.self) }
}
