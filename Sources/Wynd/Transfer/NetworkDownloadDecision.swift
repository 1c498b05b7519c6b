import Foundation

/// What a response means for the partial file, according to RFC 9110 §§13–15.
nonisolated enum NetworkDownloadDecision: Equatable, Sendable {
  /// The body is written to the file.
  case write(NetworkDownloadBody, NetworkDownloadState)
  /// The partial file is complete.
  case complete
  /// The rest of the partial file cannot be appended, for example because the file on the server has changed. The bytes
  /// go, the state stays, and the attempt fails, so that the next one requests the whole file (NetworkDownloadCall).
  case startOver
  /// The body must not be written, for this reason. There is no partial file that could be the cause.
  case invalid(String)
  /// The status code is an error. The partial file is kept.
  case failed

  /// `offset`: the first byte that was requested; 0 if the request had no Range. `field` reads a header field. Only a
  /// GET can be continued by a request for the rest.
  init(status: Int, offset: Int64, known: NetworkDownloadState, isGET: Bool = true, field: (String) -> String?) {
    switch status {
    case 206 where !isGET: self = .invalid("a part, which was not requested")
    case 206: self = Self.part(offset, known, field)
    case 200, 203: self = Self.file(offset, known, isGET, field)
    case 416 where offset > 0: self = Self.nothingLeft(offset, known, field)
    case 400...: self = .failed
    default: self = Self.unusable("status \(status)", offset)
    }
  }

  /// A response that would fail every later request for the rest in the same way, if the partial file remained.
  private static func unusable(_ reason: String, _ offset: Int64) -> NetworkDownloadDecision {
    offset > 0 ? .startOver : .invalid(reason)
  }

  /// A response without a body to a request for the rest. If the file ends where the partial file does, nothing is
  /// missing.
  private static func nothingLeft(
    _ offset: Int64, _ known: NetworkDownloadState, _ field: (String) -> String?
  ) -> NetworkDownloadDecision {
    let range = field("Content-Range").flatMap(NetworkContentRange.init)
    let endsHere = range?.first == nil && range?.total == offset
    let isExpectedLength = known.total == nil || known.total == offset
    let isWhole = endsHere && isExpectedLength && !isChanged(known, field, isPart: false)
    return isWhole ? .complete : .startOver
  }

  /// The whole file.
  private static func file(
    _ offset: Int64, _ known: NetworkDownloadState, _ isGET: Bool, _ field: (String) -> String?
  ) -> NetworkDownloadDecision {
    // An offset in a compressed body is not an offset in the file, so the rest could not be requested.
    let isEncoded = isEncoded(field)
    let validator = isEncoded || !isGET ? nil : validator(field)
    var length = length(field)
    if !isEncoded, isSame(known, field), let expected = known.total {
      // A file of the same version has the same length, even if the response does not state it.
      length = length ?? expected
      if length != expected {
        return unusable("\(length ?? 0) bytes, not \(expected), of the same version", offset)
      }
    }
    let state = NetworkDownloadState(source: known.source, validator: validator, total: length)
    let isStated = Self.length(field) != nil
    return .write(NetworkDownloadBody(start: 0, end: length, isLengthStated: isStated, kept: 0), state)
  }

  /// A part of the file. It may begin before the requested byte, for example if the server stores blocks.
  private static func part(
    _ offset: Int64, _ known: NetworkDownloadState, _ field: (String) -> String?
  ) -> NetworkDownloadDecision {
    if isEncoded(field) { return unusable("a part of a compressed file", offset) }
    let isMultipart = field("Content-Type")?.lowercased().hasPrefix("multipart/byteranges") == true
    let range = isMultipart ? nil : field("Content-Range").flatMap(NetworkContentRange.init)
    guard let range, let first = range.first, let last = range.last
    else { return unusable("a 206 without a usable Content-Range", offset) }
    if offset > 0, isChanged(known, field, isPart: true) { return .startOver }
    let hasNextByte = first <= offset && offset <= last
    if !hasNextByte { return unusable("a part from byte \(first), requested was \(offset)", offset) }
    let isKnown = offset > 0 || isSame(known, field)
    var state = isKnown ? known : NetworkDownloadState(source: known.source, validator: validator(field))
    if let total = range.total, let expected = state.total, total != expected {
      return unusable("a part of \(total) bytes, not of \(expected)", offset)
    }
    state.total = range.total ?? state.total
    if let total = state.total, last >= total { return unusable("a part beyond the end", offset) }
    let length = length(field)
    if let length, length != last - first + 1 {
      return unusable("\(length) bytes, which are not those of the Content-Range", offset)
    }
    return .write(
      NetworkDownloadBody(start: first, end: last + 1, isLengthStated: length != nil, kept: offset), state)
  }

  /// Whether the file is complete with this size, after a body that ended without an error.
  func isWhole(_ size: Int64) -> Bool {
    guard case .write(let body, let state) = self else { return self == .complete }
    if let total = state.total { return size == total }
    // If the end of a part is known, but not the total, more parts may follow.
    return body.end == nil
  }

  /// Whether the body may have been cut off. CFNetwork reports success for a chunked body that ends between two chunks
  /// (FB24495140), so the download requests what follows: a 416 confirms that nothing is missing.
  func mayBeCutOff(_ field: (String) -> String?) -> Bool {
    guard case .write(let body, let state) = self, body.end == nil else { return false }
    return state.validator != nil && field("Accept-Ranges")?.lowercased() == "bytes"
  }

  private static func isEncoded(_ field: (String) -> String?) -> Bool {
    guard let coding = field("Content-Encoding"), !coding.isEmpty else { return false }
    return coding.lowercased() != "identity"
  }

  /// The size of the body in bytes, as URLSession delivers it; nil if it is compressed, chunked, or not stated.
  static func length(_ field: (String) -> String?) -> Int64? {
    if isEncoded(field) || field("Transfer-Encoding") != nil { return nil }
    return field("Content-Length").flatMap { NetworkDigits.number($0.trimmingCharacters(in: .whitespaces)) }
  }

  /// The value that a later request can send as If-Range. A weak entity tag must not be used, and a date must not be
  /// used if there is an entity tag (RFC 9110 §13.1.5). A date has to be at least a second older than the response
  /// (§8.8.2.2).
  static func validator(_ field: (String) -> String?) -> String? {
    if let tag = field("ETag") { return isStrong(tag) ? tag : nil }
    guard let modified = field("Last-Modified"), let date = field("Date") else { return nil }
    guard let changed = NetworkHTTPDate.seconds(modified, now: Foundation.Date()),
      let sent = NetworkHTTPDate.seconds(date, now: Foundation.Date())
    else { return nil }
    return sent > changed ? modified : nil
  }

  /// A strong entity tag is a quoted text; a weak one begins with `W/`. Two different tags are none.
  private static func isStrong(_ tag: String) -> Bool {
    tag.utf8.count > 1 && isTag(tag) && tag.utf8.last == UInt8(ascii: "\"") && !tag.contains("\",")
  }

  /// Whether a validator is an entity tag. Otherwise it is a date.
  static func isTag(_ validator: String) -> Bool { validator.utf8.first == UInt8(ascii: "\"") }

  /// Whether the response certainly belongs to the same version as what is known. Without a validator, the file may
  /// have changed.
  private static func isSame(_ known: NetworkDownloadState, _ field: (String) -> String?) -> Bool {
    guard let validator = known.validator else { return false }
    let isRepeated = field(isTag(validator) ? "ETag" : "Last-Modified") != nil
    return isRepeated && !isChanged(known, field, isPart: false)
  }

  /// Whether the response may belong to another version than the partial file. With an entity tag, a part has to repeat
  /// it (RFC 9110 §15.3.7.3); a date does not have to be repeated.
  private static func isChanged(_ known: NetworkDownloadState, _ field: (String) -> String?, isPart: Bool) -> Bool {
    guard let validator = known.validator else { return true }
    let isTag = isTag(validator)
    if let now = field(isTag ? "ETag" : "Last-Modified") { return Array(now.utf8) != Array(validator.utf8) }
    // An entity tag where there was only a date before may belong to another version.
    return isTag ? isPart : field("ETag") != nil
  }
}

/// What is known about a file that is being downloaded. It is stored next to the partial file.
nonisolated struct NetworkDownloadState: Codable, Equatable, Sendable {
  /// Identifies the file: a hash of the method and the URL.
  var source: String
  /// A strong entity tag or a strong date (RFC 9110 §13.1.5); nil if the rest of the file cannot be requested.
  var validator: String?
  /// The size of the complete file in bytes, if it is known.
  var total: Int64?
}

/// Where the body of a response belongs in the file.
nonisolated struct NetworkDownloadBody: Equatable, Sendable {
  /// The offset of its first byte, which is at most ``kept``, or 0.
  var start: Int64
  /// The offset after its last byte; nil if the response does not say it.
  var end: Int64?
  /// Whether the response states the length of its body, and it is that of `start` to `end`.
  var isLengthStated: Bool
  /// The number of bytes of the partial file that stay. The body repeats those from `start` on.
  var kept: Int64

  /// Whether the bytes of the body stay, when it has ended with this size of the file. A body of another length than
  /// the response says might be another part of the file, which would be continued at the wrong place.
  func isTrusted(at size: Int64, isCutOff: Bool) -> Bool {
    end == nil || size == end || (isCutOff && isLengthStated)
  }
}

/// A Content-Range field (RFC 9110 §14.4): `bytes 5-9/200`, `bytes 5-9/*`, or `bytes */200` in a 416 response.
nonisolated struct NetworkContentRange: Equatable, Sendable {
  /// The positions of the first and the last byte; nil if the range cannot be satisfied.
  var first: Int64?
  var last: Int64?
  /// The size of the complete file in bytes; nil for `*`.
  var total: Int64?

  /// Nil if the field is not valid: a part at the wrong position would corrupt the file.
  init?(_ text: String) {
    let parts = text.trimmingCharacters(in: .whitespaces).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased().hasPrefix("bytes ") else { return nil }
    total = NetworkDigits.number(parts[1])
    if total == nil, parts[1] != "*" { return nil }
    let range = parts[0].dropFirst("bytes ".count).split(separator: "-", omittingEmptySubsequences: false)
    if range == ["*"], total != nil { return }
    guard range.count == 2, let first = NetworkDigits.number(range[0]), let last = NetworkDigits.number(range[1])
    else { return nil }
    if first > last { return nil }
    if let total, last >= total { return nil }
    self.first = first
    self.last = last
  }
}
