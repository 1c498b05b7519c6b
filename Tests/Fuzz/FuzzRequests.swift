// Entry points for what becomes a request, and for how an endpoint parses its response.
import Foundation
#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

#if canImport(FoundationNetworking)
  private let configuration: URLSessionConfiguration = {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["X-Api-Key": "K"]
    return configuration
  }()
#endif

func location(_ text: String) {
  #if canImport(FoundationNetworking)
    var request = URLRequest(url: base)
    request.httpMethod = "POST"
    request.httpBody = Data("x".utf8)
    request.setValue("Bearer T", forHTTPHeaderField: "Authorization")
    for status in [301, 302, 303, 307, 308] {
      guard let response = response(status, ["Location": text]),
        let next = request.following(response, in: configuration)
      else { continue }
      require(["http", "https"].contains(next.url?.scheme?.lowercased()), "\(next)")
      require(next.url?.host?.isEmpty == false, "\(next)")
      let stays = NetworkOrigin(next.url) == NetworkOrigin(base)
      require(stays || next.value(forHTTPHeaderField: "Authorization") == nil, "a credential left for \(next)")
      _ = next.url?.redactedForLog
    }
  #endif
}

private struct Address: Endpoint {
  typealias Response = Data
  var host = "example.com"
  var path = "/"
  var escapedPath: String?
  var queryItems: [URLQueryItem] = []
  var headers: [String: String] = [:]
  var percentEncodedPath: String {
    escapedPath ?? NetworkPercentEncoding.text(path, keeping: NetworkPercentEncoding.pathCharacters)
  }
}

func url(_ text: String) {
  let field = parts(text)
  // Without a host, it is relative to the base URL of a client.
  if !field[0].isEmpty, let url = try? Address(host: field[0]).url {
    require(url.host?.isEmpty == false && url.absoluteString.hasSuffix("/") && url.query == nil, url.absoluteString)
    require(url.absoluteString.utf8.allSatisfy { 33..<127 ~= $0 }, url.absoluteString)
  }
  if let url = try? Address(path: text).url {
    let path = url.absoluteString.dropFirst("https://example.com".count)
    let expected = text.utf8.first == 47 ? text : "/" + text
    require(decoded(String(path)) == Array(expected.utf8), "\(url) \(expected.debugDescription)")
  }
  if let url = try? Address(escapedPath: text).url {
    require(url.query == nil && url.fragment == nil, url.absoluteString)
  }
  let service = URL(string: field.count > 1 ? field[1] : "http://h/v1")
  if let service, let relative = try? Address(host: "", path: text).url {
    var request = URLRequest(url: relative)
    guard (try? NetworkBaseURL(service).complete(&request)) == true, let whole = request.url else { return }
    require(NetworkOrigin(whole) == NetworkOrigin(service), "\(whole)")
  }
  let item = URLQueryItem(name: field[0], value: field.count > 1 ? field[1] : nil)
  if let url = try? Address(queryItems: [item]).url {
    let query = String(url.absoluteString.dropFirst("https://example.com/?".count))
    let pair = query.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { decoded(String($0)) }
    require(pair == [Array(item.name.utf8)] + (item.value.map { [Array($0.utf8)] } ?? []), query)
  }
}

func decoded(_ text: String) -> [UInt8]? {
  var bytes: [UInt8] = []
  var rest = text.utf8[...]
  while let byte = rest.popFirst() {
    guard byte == 37 else {
      bytes.append(byte)
      continue
    }
    guard let high = rest.popFirst(), let low = rest.popFirst(),
      let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16)
    else { return nil }
    bytes.append(value)
  }
  return bytes
}

func field(_ text: String) {
  let field = parts(text)
  let (name, value) = (field[0], field.count > 1 ? field[1] : "v")
  let headers = NetworkHeaders([name: value])
  if let request = try? Address(headers: [name: value]).request {
    require(!name.isEmpty && !value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "\(name): \(value)")
    _ = NetworkRedirect.request(request, after: URLRequest(url: base), additional: headers)
  }
  _ = headers.description
  let part = RequestBody.Part.data(name, Data(), fileName: field.last, contentType: value)
  if let head = try? part.head() {
    let lines = head.utf8.split(separator: 10)
    require(lines.count == 2 && lines[0].filter { $0 == 34 }.count == 4, head)
  }
}

func description(_ text: String) {
  guard let response = response(200, [:]) else { return }
  let field = parts(text)
  let data = Data(text.utf8)
  var errors: [any Error] = [DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: text))]
  do { _ = try JSONDecoder().decode([String: Int].self, from: data) } catch { errors.append(error) }
  do { _ = try JSONDecoder().decode([String: Int].self, from: JSONEncoder().encode([field[0]: text])) } catch {
    errors.append(error)
  }
  for error in errors {
    let text = NetworkError.undecodable(error, response, data).description
    require(text.unicodeScalars.count < 700 && !text.contains { $0.isNewline }, text)
  }
  if let url = URL(string: field[0]) { _ = url.redactedForLog }
}

/// Any JSON, as a struct of an app could contain it.
private enum AnyJSON: Codable {
  case null
  case bool(Bool)
  case number(Double)
  case text(String)
  case array([AnyJSON])
  case object([String: AnyJSON])

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let text = try? value.decode(String.self) {
      self = .text(text)
    } else if let array = try? value.decode([AnyJSON].self) {
      self = .array(array)
    } else {
      self = .object(try value.decode([String: AnyJSON].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let bool): try container.encode(bool)
    case .number(let number): try container.encode(number)
    case .text(let text): try container.encode(text)
    case .array(let array): try container.encode(array)
    case .object(let members): try container.encode(members)
    }
  }
}

/// For any JSON, only an object has names for a query.
func json(_ bytes: [UInt8]) {
  guard let value = try? JSONDecoder().decode(AnyJSON.self, from: Data(bytes)) else { return }
  let items = try? URLQueryItem.networkItems(of: value)
  let hasNames =
    switch value {
    case .object, .null: true
    default: false
    }
  require((items != nil) == hasNames, "\(value)")
  check(items ?? [])
}

/// A query has only characters that a URL may contain.
private func check(_ items: [URLQueryItem]) {
  let query = NetworkPercentEncoding.query(items)
  require(query.utf8.allSatisfy { 33..<127 ~= $0 }, query)
}

func charset(_ bytes: [UInt8]) {
  struct Text: Endpoint {
    typealias Response = String
    let path = "/"
  }
  let type = String(decoding: bytes.prefix(30), as: UTF8.self)
  guard let response = response(200, ["Content-Type": type]) else { return }
  _ = try? Text().parse(data: Data(bytes.dropFirst(30)), response: response, decoder: JSONDecoder())
}

/// For any text, a server receives the name once for each value, and the values as they are.
func query(_ text: String) {
  let field = parts(text)
  let items = (try? URLQueryItem.networkItems(of: [field[0]: field])) ?? []
  require(items.map { $0.value ?? "" } == field && items.allSatisfy { $0.name == field[0] }, text)
  check(items)
}

/// For any Link, a link has no password of the URL of the response.
func link(_ text: String) {
  guard let url = URL(string: "http://u:s3cr3t@127.0.0.1/a/b?c=d"), !text.contains("s3cr3t"),
    let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Link": text])
  else { return }
  let response = NetworkResponse(data: Data(), response: head)
  for relation in ["next", "last", text] {
    guard let link = response.link(relation) else { continue }
    require(!link.absoluteString.contains("s3cr3t"), "\(link)")
    _ = link.redactedForLog
  }
}

/// For any text, a date is finite.
func isoDate(_ text: String) {
  guard let json = try? JSONEncoder().encode([text]) else { return }
  let date = try? JSONDecoder.networkDefault.decode([Date].self, from: json).first
  require(date?.timeIntervalSince1970.isFinite ?? true, text)
  guard let date else { return }
  struct Query: Encodable, Sendable { let at: Date }
  require((try? URLQueryItem.networkItems(of: Query(at: date)))?.count == 1, text)
}
