import Foundation

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
    total = Self.number(parts[1])
    if total == nil, parts[1] != "*" { return nil }
    let range = parts[0].dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    if range == ["*"], total != nil { return }
    guard range.count == 2, let first = Self.number(range[0]), let last = Self.number(range[1]) else { return nil }
    if first > last || last >= total ?? .max { return nil }
    (self.first, self.last) = (first, last)
  }

  /// Parses digits only, without a sign or white space.
  static func number(_ text: some StringProtocol) -> Int64? {
    text.utf8.allSatisfy { 48...57 ~= $0 } ? Int64(text) : nil
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

/// What a response means for the partial file, according to RFC 9110 §§13–15.
nonisolated enum NetworkDownloadDecision: Equatable, Sendable {
  /// The body is the file from this offset, which is at most that of the request. `end` is the offset of its own end;
  /// nil if the response does not state it.
  case write(from: Int64, end: Int64?, NetworkDownloadState)
  /// The partial file is complete.
  case complete
  /// The rest of the partial file cannot be appended, for example because the file on the server has changed.
  case startOver
  /// The response has the validator of the partial file, but another length. The rest cannot be appended, and neither
  /// length is known to be right: the download starts over, and the length that is known remains the expected one.
  case otherLength
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
    case 416 where offset > 0:
      let range = field("Content-Range").flatMap(NetworkContentRange.init)
      let isWhole = range?.first == nil && range?.total == offset && known.total ?? offset == offset
      self = isWhole && !Self.isChanged(known, field, isPart: false) ? .complete : .startOver
    case 400...: self = .failed
    default: self = Self.unusable("status \(status)", offset)
    }
  }

  /// A response that would fail every later request for the rest in the same way, if the partial file remained.
  private static func unusable(_ reason: String, _ offset: Int64) -> NetworkDownloadDecision {
    offset > 0 ? .startOver : .invalid(reason)
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
        return offset > 0 ? .otherLength : .invalid("\(length ?? 0) bytes, not \(expected), of the same version")
      }
    }
    let state = NetworkDownloadState(source: known.source, validator: validator, total: length)
    return .write(from: 0, end: length, state)
  }

  /// A part of the file. It may begin before the requested byte, for example if the server stores blocks.
  private static func part(_ offset: Int64, _ known: NetworkDownloadState, _ field: (String) -> String?)
    -> NetworkDownloadDecision
  {
    if isEncoded(field) { return unusable("a part of a compressed file", offset) }
    let isMultipart = (field("Content-Type") ?? "").lowercased().hasPrefix("multipart/byteranges")
    guard !isMultipart, let range = field("Content-Range").flatMap(NetworkContentRange.init), let first = range.first,
      let last = range.last
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
    return .write(from: first, end: last + 1, state)
  }

  /// Whether the file is complete with this size, after a body that ended without an error.
  func isWhole(_ size: Int64) -> Bool {
    guard case .write(_, let end, let state) = self else { return self == .complete }
    // If the end of a part is known, but not the total, more parts may follow.
    return size == state.total || state.total == nil && end == nil
  }

  /// Whether the body may have been cut off. CFNetwork reports success for a chunked body that ends between two chunks
  /// (FB24495140), so the download requests what follows: a 416 confirms that nothing is missing.
  func mayBeCutOff(_ field: (String) -> String?) -> Bool {
    guard case .write(_, nil, let state) = self else { return false }
    return state.validator != nil && field("Accept-Ranges")?.lowercased() == "bytes"
  }

  private static func isEncoded(_ field: (String) -> String?) -> Bool {
    field("Content-Encoding").map { $0.lowercased() != "identity" && !$0.isEmpty } ?? false
  }

  /// The size of the body in bytes, as URLSession delivers it; nil if it is compressed, chunked, or not stated.
  static func length(_ field: (String) -> String?) -> Int64? {
    if isEncoded(field) || field("Transfer-Encoding") != nil { return nil }
    return field("Content-Length").flatMap { NetworkContentRange.number($0.trimmingCharacters(in: .whitespaces)) }
  }

  /// The value that a later request can send as If-Range. A weak entity tag must not be used, and a date must not be
  /// used if there is an entity tag (RFC 9110 §13.1.5). A date has to be at least a second older than the response
  /// (§8.8.2.2).
  static func validator(_ field: (String) -> String?) -> String? {
    if let tag = field("ETag") { return tag.utf8.first == 34 && tag.utf8.count > 1 && tag.utf8.last == 34 ? tag : nil }
    guard let modified = field("Last-Modified"), let changed = RetryAfter.httpDate(modified, now: Date()),
      let sent = field("Date").flatMap({ RetryAfter.httpDate($0, now: Date()) }), sent > changed
    else { return nil }
    return modified
  }

  /// Whether the response certainly belongs to the same version as what is known. That takes a validator: without one,
  /// the file may have changed.
  private static func isSame(_ known: NetworkDownloadState, _ field: (String) -> String?) -> Bool {
    guard let validator = known.validator else { return false }
    let isTag = validator.utf8.first == UInt8(ascii: "\"")
    return field(isTag ? "ETag" : "Last-Modified") != nil && !isChanged(known, field, isPart: false)
  }

  /// Whether the response may belong to another version than the partial file. With an entity tag, a part has to repeat
  /// it (RFC 9110 §15.3.7.3); a date does not have to be repeated.
  private static func isChanged(_ known: NetworkDownloadState, _ field: (String) -> String?, isPart: Bool) -> Bool {
    guard let validator = known.validator else { return true }
    let isTag = validator.utf8.first == 34
    if let now = field(isTag ? "ETag" : "Last-Modified") { return !now.utf8.elementsEqual(validator.utf8) }
    // An entity tag where there was only a date before may belong to another version.
    return isTag ? isPart : field("ETag") != nil
  }
}
