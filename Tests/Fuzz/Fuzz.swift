// One entry point for everything that reads what a server sent or a caller passed. The first byte says which; the run
// script compiles this together with Sources/Wynd.
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What libFuzzer calls.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeBufferPointer(start: start, count: count)
  guard let kind = bytes.first else { return 0 }
  let rest = Array(bytes.dropFirst())
  let text = String(decoding: rest, as: UTF8.self)
  switch kind % 14 {
  case 0: retryAfter(text)
  case 1: rateLimit(text)
  case 2: location(text)
  case 3: url(text)
  case 4: field(text)
  case 5: description(text)
  case 6: json(rest)
  case 7: charset(rest)
  case 8: query(text)
  case 9: cached(text)
  case 11: contentRange(text)
  case 12: events(rest)
  case 13: lines(rest)
  default: curl(text)
  }
  return 0
}

private func require(_ isTrue: Bool, _ text: @autoclosure () -> String) {
  if !isTrue { fatalError(text()) }
}

/// Parts of one input.
private func parts(_ text: String) -> [String] {
  text.split(separator: "\u{1}", omittingEmptySubsequences: false).map(String.init)
}

private let base = URL(string: "http://127.0.0.1:8080/a/b?c=d") ?? URL(fileURLWithPath: "/")
private let now = Date(timeIntervalSince1970: 1_800_000_000)

private func response(_ status: Int, _ fields: [String: String]) -> HTTPURLResponse? {
  HTTPURLResponse(url: base, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
}

private func retryAfter(_ text: String) {
  let seconds = RetryAfter.seconds(text, after: now, now: now)
  require(seconds.map { 0...RetryAfter.longest ~= $0 } ?? true, "\(seconds ?? 0)")
  for year in [-62_135_596_800.0, 0, 4e9, 2.5e11] {
    _ = RetryAfter.httpDate(text, now: Date(timeIntervalSince1970: year))
  }
  let field = parts(text)
  decide(["Retry-After": field[0], "Date": field.count > 1 ? field[1] : "", "Age": field.count > 2 ? field[2] : ""])
}

private func rateLimit(_ text: String) {
  let field = parts(text)
  for prefix in ["RateLimit", "X-RateLimit", "X-Rate-Limit"] {
    decide([prefix + "-Reset": field[0], prefix + "-Remaining": field.count > 1 ? field[1] : "0"])
  }
  decide(["RateLimit": text])
}

/// Whatever the fields say, the wait is finite, not negative, and not above the cap.
private func decide(_ fields: [String: String]) {
  for status in [429, 503] {
    guard let response = response(status, fields) else { continue }
    for cap in [nil, Duration.zero, .seconds(60)] {
      let policy = RetryPolicy(maxRetryAfter: cap, maxRetryTime: nil, budget: nil)
      let decision = policy.decision(
        .endpointError(response, nil), RetryRequestFacts(method: "GET"), RetryCallState(attempts: 1), now: now,
        random: 0.5)
      if case .retry(let delay, .server) = decision {
        let longest = cap ?? .seconds(RetryAfter.longest)
        require(delay >= .zero && delay <= longest + .seconds(1), "\(delay)")
      }
    }
  }
}

/// Whatever an answer says of caching: it is served while it is fresh and no longer, and the reader never traps.
private func cached(_ text: String) {
  let field = parts(text)
  func at(_ index: Int) -> String { index < field.count ? field[index] : "" }
  let names = ["Cache-Control", "Vary", "Age", "ETag", "Last-Modified", "Expires", "Date"]
  let fields = [String: String](uniqueKeysWithValues: zip(names, (0..<7).map(at)))
  let seconds = CacheControl(at(0)).maxAge
  require(seconds.map { 0...1 << 31 ~= $0 } ?? true, "\(seconds ?? 0)")
  guard let head = response(200, fields), let not = response(304, fields) else { return }
  let request = URLRequest(url: base)
  let answer = NetworkResponse(data: Data(text.utf8), response: head)
  guard let stored = StoredResponse(answer, to: request, at: now) else { return }
  require(!CacheControl(at(0)).has("no-store"), "stored although it must not be")
  require(stored.matches(request), "stored, and not found")
  require(!stored.isFresh(at: now + Double(1 << 31)) && !stored.isFresh(at: now - 1), "fresh for ever")
  require(stored.renewed(by: not, at: now).served(as: .revalidated)?.data == answer.data, "another body")
  let data = try? PropertyListEncoder().encode(stored)
  require(data.flatMap { try? PropertyListDecoder().decode(StoredResponse.self, from: $0) } != nil, "not read again")
}

/// Whatever a server says of a part: it is put where it belongs, or refused, and never beyond what is known.
private func contentRange(_ text: String) {
  let field = parts(text)
  func at(_ index: Int) -> String? { index < field.count && !field[index].isEmpty ? field[index] : nil }
  let names = ["Content-Range", "ETag", "Last-Modified", "Date", "Content-Length", "Content-Encoding"]
  let fields = [String: String?](uniqueKeysWithValues: zip(names, (0..<6).map(at)))
  for (offset, status) in [(Int64(0), 200), (0, 206), (10, 206), (10, 416), (10, 200), (.max, 206)] {
    for total in [nil, Int64(20)] {
      let known = DownloadState(source: "s", validator: "\"1\"", total: offset == 0 ? nil : total)
      switch DownloadStep(status: status, offset: offset, known: known, field: { fields[$0] ?? nil }) {
      case .append(let last, let state):
        require(status == 206 && last >= offset && last < state.total ?? .max, "\(last)")
        require(known.total == nil || state.total == known.total, "another length")
      case .fromStart(let state): require(state.total ?? 0 >= 0 && state.validator?.hasPrefix("W/") != true, "\(state)")
      case .complete: require(status == 416, "whole without a word")
      default: break
      }
    }
  }
}

/// Whatever comes, and wherever the pieces end, the events are the same.
private func events(_ bytes: [UInt8]) {
  var (whole, pieces) = (ServerSentEventParser(), ServerSentEventParser())
  let expected = (try? whole.feed(bytes)) ?? []
  var got: [ServerSentEvent] = []
  for byte in bytes { got += (try? pieces.feed([byte])) ?? [] }
  require(got == expected && whole.lastID == pieces.lastID, "\(got) \(expected)")
  require(expected.allSatisfy { !$0.id.utf8.contains(0) && !$0.event.isEmpty }, "\(expected)")
  require(whole.retry.map { $0 >= .zero && $0 <= .seconds(86_400) } ?? true, "a long sleep")
}

/// The same for lines.
private func lines(_ bytes: [UInt8]) {
  var (whole, pieces) = (LineSplitter(), LineSplitter())
  let expected = ((try? whole.feed(bytes)) ?? []) + [whole.finish()].compactMap { $0 }
  var got: [String] = []
  for byte in bytes { got += (try? pieces.feed([byte])) ?? [] }
  got += [pieces.finish()].compactMap { $0 }
  require(got == expected, "\(got) \(expected)")
}

/// Whatever a request holds, its command is one line of words, and no secret is in it.
private func curl(_ text: String) {
  let field = parts(text)
  var request = URLRequest(url: URL(string: field[0]) ?? base)
  request.httpMethod = field.count > 1 ? field[1] : "POST"
  request.setValue(text, forHTTPHeaderField: field.count > 2 ? field[2] : "X-Text")
  request.setValue("Bearer s3cr3t", forHTTPHeaderField: "Authorization")
  request.httpBody = Data(text.utf8)
  let command = request.cURL
  require(text.contains("s3cr3t") || !command.contains("s3cr3t"), command)
  // Outside of single quotes nothing is left that a shell would run.
  var isQuoted = false
  var isEscaped = false
  for byte in command.utf8.dropFirst(4) {
    if isEscaped {
      isEscaped = false
    } else if byte == 92, !isQuoted {
      isEscaped = true
    } else if byte == 39 {
      isQuoted.toggle()
    } else {
      require(isQuoted || !"`;&<>()\n".utf8.contains(byte), command)
    }
  }
  require(!isQuoted, command)
}

private func location(_ text: String) {
  #if canImport(FoundationNetworking)
    var request = URLRequest(url: base)
    request.httpMethod = "POST"
    request.httpBody = Data("x".utf8)
    request.setValue("Bearer T", forHTTPHeaderField: "Authorization")
    for status in [301, 302, 303, 307, 308] {
      guard let response = response(status, ["Location": text]),
        let next = request.followingRedirect(response, additional: ["X-Api-Key": "K"])
      else { continue }
      require(["http", "https"].contains(next.url?.scheme?.lowercased()), "\(next)")
      require(next.url?.host?.isEmpty == false, "\(next)")
      let stays = RedirectGuard.origin(next.url) == RedirectGuard.origin(base)
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
  var headers: [URLRequest.Header] = []
  var percentEncodedPath: String { escapedPath ?? PercentEncoding.path(path) }
}

private func url(_ text: String) {
  let field = parts(text)
  if let url = try? Address(host: field[0]).url {
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
  _ = try? Address(host: "", path: text).url(baseURL: URL(string: field.count > 1 ? field[1] : "http://h/v1"))
  let item = URLQueryItem(name: field[0], value: field.count > 1 ? field[1] : nil)
  if let url = try? Address(queryItems: [item]).url {
    let query = String(url.absoluteString.dropFirst("https://example.com/?".count))
    let pair = query.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { decoded(String($0)) }
    require(pair == [Array(item.name.utf8)] + (item.value.map { [Array($0.utf8)] } ?? []), query)
  }
}

private func decoded(_ text: String) -> [UInt8]? {
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

private func field(_ text: String) {
  let field = parts(text)
  let header = URLRequest.Header(field[0], field.count > 1 ? field[1] : "v")
  if let request = try? Address(headers: [header]).request {
    require(!header.name.isEmpty && !header.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "\(header)")
    _ = RedirectGuard.request(request, after: URLRequest(url: base), additional: [field[0]: header.value])
  }
  _ = header.description
  let part = URLRequest.Body.Part(name: field[0], data: Data(), fileName: field.last, contentType: header.value)
  if let head = try? part.head() {
    let lines = head.utf8.split(separator: 10)
    require(lines.count == 2 && lines[0].filter { $0 == 34 }.count == 4, head)
  }
}

private func description(_ text: String) {
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

private func json(_ bytes: [UInt8]) {
  guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else { return }
  guard let data = try? JSONEncoder().encode(value) else { return }
  let again = try? JSONDecoder().decode(JSONValue.self, from: data)
  require(again == value, "\(value) \(String(describing: again))")
  _ = try? QueryEncoder().encode(value)
}

private func charset(_ bytes: [UInt8]) {
  struct Text: Endpoint {
    typealias Response = String
    let path = "/"
  }
  let type = String(decoding: bytes.prefix(30), as: UTF8.self)
  guard let response = response(200, ["Content-Type": type]) else { return }
  _ = try? Text().parse(data: Data(bytes.dropFirst(30)), response: response)
}

private func query(_ text: String) {
  let field = parts(text)
  for arrays in [QueryEncoder.ArrayStyle.repeated, .brackets, .indices, .commas] {
    let items = try? QueryEncoder(arrays: arrays).encode([field[0]: field])
    require(items != nil, text)
    _ = PercentEncoding.query(items ?? [])
  }
}
