import Foundation

/// A Content-Range field (RFC 9110 §14.4): `bytes 5-9/200`, `bytes 5-9/*`, or `bytes */200` in a 416 response.
nonisolated struct ContentRange: Equatable, Sendable {
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
nonisolated struct DownloadState: Codable, Equatable, Sendable {
  /// Identifies the file: a hash of the method and the URL.
  var source: String
  /// A strong entity tag or a strong date (RFC 9110 §13.1.5); nil if the rest of the file cannot be requested.
  var validator: String?
  /// The size of the complete file in bytes, if it is known.
  var total: Int64?
}

/// What a response means for the partial file, according to RFC 9110 §§13–15.
nonisolated enum DownloadDecision: Equatable, Sendable {
  /// The body is the file from this offset: 0, or that of the request. `end` is the offset of its own end; nil if the
  /// response does not state it.
  case write(from: Int64, end: Int64?, DownloadState)
  /// The partial file is complete.
  case complete
  /// The rest of the partial file cannot be appended, for example because the file on the server has changed.
  case startOver
  /// The body must not be written, for this reason.
  case invalid(String)
  /// The status code is an error. The partial file is kept.
  case failed

  /// `offset`: the first byte that was requested; 0 if the request had no Range. `field` reads a header field. Only a
  /// GET can be continued by a request for the rest.
  init(status: Int, offset: Int64, known: DownloadState, isGET: Bool = true, field: (String) -> String?) {
    let isEncoded = Self.isEncoded(field)
    switch status {
    case 206 where !isGET: self = .invalid("a part, which was not requested")
    case 206 where isEncoded: self = offset > 0 ? .startOver : .invalid("a part of a compressed file")
    case 206: self = Self.part(offset, known, field)
    case 200, 203:
      // An offset in a compressed body is not an offset in the file, so the rest could not be requested.
      let validator = isEncoded || !isGET ? nil : Self.validator(field)
      let length = Self.length(field)
      self = .write(from: 0, end: length, DownloadState(source: known.source, validator: validator, total: length))
    case 416 where offset > 0:
      let range = field("Content-Range").flatMap(ContentRange.init)
      let isWhole = range?.first == nil && range?.total == offset && known.total ?? offset == offset
      self = isWhole && !Self.isChanged(known, field, isPart: false) ? .complete : .startOver
    case 400...: self = .failed
    default: self = .invalid("status \(status)")
    }
  }

  private static func part(_ offset: Int64, _ known: DownloadState, _ field: (String) -> String?) -> DownloadDecision {
    guard let range = field("Content-Range").flatMap(ContentRange.init), let first = range.first, let last = range.last
    else { return .invalid("a 206 without a usable Content-Range") }
    if offset > 0, isChanged(known, field, isPart: true) { return .startOver }
    if first != offset { return .invalid("a part from byte \(first), requested was \(offset)") }
    var state = offset > 0 ? known : DownloadState(source: known.source, validator: validator(field))
    if let total = range.total, let expected = state.total, total != expected {
      return .invalid("a part of \(total) bytes, not of \(expected)")
    }
    state.total = range.total ?? state.total
    if let total = state.total, last >= total { return .invalid("a part beyond the end") }
    return .write(from: offset, end: last + 1, state)
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
    return field("Content-Length").flatMap { ContentRange.number($0.trimmingCharacters(in: .whitespaces)) }
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

  /// Whether the response may belong to another version than the partial file. With an entity tag, a part has to repeat
  /// it (RFC 9110 §15.3.7.3); a date does not have to be repeated.
  private static func isChanged(_ known: DownloadState, _ field: (String) -> String?, isPart: Bool) -> Bool {
    guard let validator = known.validator else { return true }
    let isTag = validator.utf8.first == 34
    if let now = field(isTag ? "ETag" : "Last-Modified") { return !now.utf8.elementsEqual(validator.utf8) }
    // An entity tag where there was only a date before may belong to another version.
    return isTag ? isPart : field("ETag") != nil
  }
}
