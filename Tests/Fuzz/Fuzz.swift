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
  switch kind % 16 {
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
  case 14: link(text)
  case 15: isoDate(text)
  default: curl(text)
  }
  return 0
}

func require(_ isTrue: Bool, _ text: @autoclosure () -> String) {
  if !isTrue { fatalError(text()) }
}

/// Parts of one input.
func parts(_ text: String) -> [String] {
  text.split(separator: "\u{1}", omittingEmptySubsequences: false).map(String.init)
}

let base = URL(string: "http://127.0.0.1:8080/a/b?c=d") ?? URL(fileURLWithPath: "/")
let now = Date(timeIntervalSince1970: 1_800_000_000)

func response(_ status: Int, _ fields: [String: String]) -> HTTPURLResponse? {
  HTTPURLResponse(url: base, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
}

func retryAfter(_ text: String) {
  let wait = response(503, ["Retry-After": text]).flatMap { NetworkRetryAfter.wait(asked: $0, now: now)?.wait }
  require(wait.map { Duration.zero ... .seconds(NetworkRetryAfter.longest) ~= $0 } ?? true, "\(wait ?? .zero)")
  for year in [-62_135_596_800.0, 0, 4e9, 2.5e11] {
    _ = NetworkHTTPDate.seconds(text, now: Date(timeIntervalSince1970: year))
  }
  let field = parts(text)
  decide(["Retry-After": field[0], "Date": field.count > 1 ? field[1] : "", "Age": field.count > 2 ? field[2] : ""])
}

func rateLimit(_ text: String) {
  let field = parts(text)
  for prefix in ["RateLimit", "X-RateLimit"] {
    decide([prefix + "-Reset": field[0], prefix + "-Remaining": field.count > 1 ? field[1] : "0"])
  }
}

/// For any fields, the wait is finite, not negative, and not above the cap.
func decide(_ fields: [String: String]) {
  for status in [429, 503] {
    guard let response = response(status, fields) else { continue }
    for cap in [.noLimit, Duration.zero, .seconds(60)] {
      let policy = RetryPolicy(maxRetryAfter: cap, maxRetryTime: .noLimit, budget: .unlimited)
      let decision = RetryRule(policy).decision(
        .endpointError(response, nil), URLRequest(url: base), RetryCallState(attempts: 1), verdict: nil,
        now: now, random: 0.5)
      if case .retry(let delay, .server) = decision {
        let longest = min(cap, .seconds(NetworkRetryAfter.longest))
        require(delay >= .zero && delay <= longest + .seconds(1), "\(delay)")
      }
    }
  }
}

/// For any cache fields, a response is served only while it is fresh, and reading them never traps.
func cached(_ text: String) {
  let field = parts(text)
  func at(_ index: Int) -> String { index < field.count ? field[index] : "" }
  let names = ["Cache-Control", "Vary", "Age", "ETag", "Last-Modified", "Expires", "Date"]
  let fields = [String: String](uniqueKeysWithValues: zip(names, (0..<7).map(at)))
  let seconds = NetworkCacheControl(at(0)).maxAge
  require(seconds.map { 0...1 << 31 ~= $0 } ?? true, "\(seconds ?? 0)")
  guard let head = response(200, fields), let not = response(304, fields) else { return }
  let request = URLRequest(url: base)
  let received = NetworkResponse(data: Data(text.utf8), response: head)
  guard let stored = StoredResponse(received, to: request, requestedAt: now), stored.isStorable else { return }
  require(!NetworkCacheControl(at(0)).noStore, "stored although it must not be")
  let freshness = stored.freshness
  require(!freshness.isFresh(at: now + Double(1 << 31)) && !freshness.isFresh(at: now - 1), "fresh without limit")
  let renewed = StoredResponse(not, renewing: stored, to: request, requestedAt: now)
  let served = try? renewed?.served(as: .revalidated, allowEmptyData: true)
  require(served?.data == received.data, "another body")
  let data = try? PropertyListEncoder().encode(stored)
  require(data.flatMap { try? PropertyListDecoder().decode(StoredResponse.self, from: $0) } != nil, "not read again")
}

/// For any Content-Range, the bytes are written at their offset, or rejected, and never beyond the known length.
func contentRange(_ text: String) {
  let field = parts(text)
  func at(_ index: Int) -> String? { index < field.count && !field[index].isEmpty ? field[index] : nil }
  let names = ["Content-Range", "ETag", "Last-Modified", "Date", "Content-Length", "Content-Encoding"]
  let fields = [String: String?](uniqueKeysWithValues: zip(names, (0..<6).map(at)))
  for (offset, status) in [(Int64(0), 200), (0, 206), (10, 206), (10, 416), (10, 200), (.max, 206)] {
    for total in [nil, Int64(20)] {
      let known = NetworkDownloadState(source: "s", validator: "\"1\"", total: offset == 0 ? nil : total)
      switch NetworkDownloadDecision(status: status, offset: offset, known: known, field: { fields[$0] ?? nil }) {
      case .write(let body, let state) where status == 206:
        require(body.start <= offset && body.kept <= offset, "\(body)")
        require(body.end ?? 0 > body.start && body.end ?? .max <= state.total ?? .max, "\(body)")
        require(known.total == nil || state.total == known.total, "another length")
      case .write(let body, let state):
        require(body.start == 0 && body.end == state.total, "\(body) \(state)")
        require(state.validator?.hasPrefix("W/") != true, "\(state)")
        require(state.total ?? 0 >= 0, "\(state)")
      case .complete: require(status == 416, "whole without a word")
      default: break
      }
    }
  }
}

/// The events do not depend on where the chunks end.
func events(_ bytes: [UInt8]) {
  var (whole, pieces) = (NetworkServerSentEventParser(), NetworkServerSentEventParser())
  var (splitter, other) = (NetworkLineSplitter(), NetworkLineSplitter())
  let expected = ((try? splitter.feed(bytes)) ?? []).compactMap { try? whole.take($0) }
  var got: [ServerSentEvent] = []
  for byte in bytes { got += ((try? other.feed([byte])) ?? []).compactMap { try? pieces.take($0) } }
  require(got == expected && whole.lastID == pieces.lastID, "\(got) \(expected)")
  require(expected.allSatisfy { !$0.id.utf8.contains(0) && !$0.type.isEmpty }, "\(expected)")
  require(whole.retry.map { $0 >= .zero && $0 <= .seconds(86_400) } ?? true, "a long sleep")
}

/// The same for lines.
func lines(_ bytes: [UInt8]) {
  var (whole, pieces) = (NetworkLineSplitter(), NetworkLineSplitter())
  let expected = ((try? whole.feed(bytes)) ?? []) + [whole.finish()].compactMap(\.self)
  var got: [String] = []
  for byte in bytes { got += (try? pieces.feed([byte])) ?? [] }
  got += [pieces.finish()].compactMap(\.self)
  require(got == expected, "\(got) \(expected)")
}

/// For any request, the command is one line of words without a secret.
func curl(_ text: String) {
  let field = parts(text)
  var request = URLRequest(url: URL(string: field[0]) ?? base)
  request.httpMethod = field.count > 1 ? field[1] : "POST"
  request.setValue(text, forHTTPHeaderField: field.count > 2 ? field[2] : "X-Text")
  request.setValue("Bearer s3cr3t", forHTTPHeaderField: "Authorization")
  request.httpBody = Data(text.utf8)
  let command = request.curlCommand()
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
