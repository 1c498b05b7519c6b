import Foundation

/// Content-Range (RFC 9110 §14.4): `bytes 5-9/200`, `bytes 5-9/*`, and `bytes */200` in a 416.
nonisolated struct ContentRange: Equatable, Sendable {
  /// First and last byte; nil where the range cannot be satisfied.
  var first: Int64?
  var last: Int64?
  /// Bytes of the whole file; nil for `*`.
  var total: Int64?

  /// Nil for anything that makes no sense: a server that errs here would corrupt the file.
  init?(_ text: String) {
    let parts = text.trimmingCharacters(in: .whitespaces).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased().hasPrefix("bytes ") else { return nil }
    total = Self.number(parts[1])
    if total == nil, parts[1] != "*" { return nil }
    let range = parts[0].dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    if range == ["*"], total != nil { return }
    guard range.count == 2, let first = Self.number(range[0]), let last = Self.number(range[1]), first <= last,
      last < total ?? .max
    else { return nil }
    (self.first, self.last) = (first, last)
  }

  /// Digits only: no sign, no blank.
  static func number(_ text: some StringProtocol) -> Int64? {
    text.utf8.allSatisfy { 48...57 ~= $0 } ? Int64(text) : nil
  }
}

/// What is known of a file that is being downloaded; it is kept beside a partial file.
nonisolated struct DownloadState: Codable, Equatable, Sendable {
  /// Which file it is.
  var source: String
  /// A strong entity tag, or a date that is as good (RFC 9110 §13.1.5); nil: a part cannot be requested.
  var validator: String?
  /// Bytes of the whole file, if they are known.
  var total: Int64?
}

/// What a response means for the file: RFC 9110 §§13–15 as a pure function.
nonisolated enum DownloadStep: Equatable, Sendable {
  /// The body is the file from its beginning.
  case fromStart(DownloadState)
  /// The body continues the partial file, up to and including this byte.
  case append(upTo: Int64, DownloadState)
  /// The partial file is the whole file.
  case complete
  /// The part is of another version, or of no file. The partial file is useless.
  case startOver
  /// Not to be written, for this reason.
  case invalid(String)
  /// An error like that of any other call; the partial file stays.
  case failed

  /// `offset`: the size of the partial file; more than 0 means that the rest was requested. `field` reads a header field.
  init(status: Int, offset: Int64, known: DownloadState, field: (String) -> String?) {
    let isEncoded = Self.isEncoded(field)
    switch status {
    case 206 where isEncoded:
      self = offset > 0 ? .startOver : .invalid("a part of a compressed file")
    case 206:
      self = Self.part(offset, known, field)
    case 200, 203:
      // A place in a body that is compressed on the way is not a place in the file.
      let validator = isEncoded ? nil : Self.validator(field)
      self = .fromStart(DownloadState(source: known.source, validator: validator, total: Self.length(field)))
    case 416 where offset > 0:
      let range = field("Content-Range").flatMap(ContentRange.init)
      let isWhole = range?.first == nil && range?.total == offset && known.total ?? offset == offset
      self = isWhole && !Self.isChanged(known, field, isPart: false) ? .complete : .startOver
    case 400...: self = .failed
    default: self = .invalid("status \(status)")
    }
  }

  private static func part(_ offset: Int64, _ known: DownloadState, _ field: (String) -> String?) -> DownloadStep {
    guard let range = field("Content-Range").flatMap(ContentRange.init), let first = range.first, let last = range.last
    else { return .invalid("a 206 without a usable Content-Range") }
    if offset > 0, isChanged(known, field, isPart: true) { return .startOver }
    if first != offset { return .invalid("a part from byte \(first), requested was \(offset)") }
    var state = offset > 0 ? known : DownloadState(source: known.source, validator: validator(field))
    if let total = range.total {
      if let expected = state.total, expected != total {
        return .invalid("a part of \(total) bytes, not of \(expected)")
      }
      state.total = total
    }
    if let total = state.total, last >= total { return .invalid("a part beyond the end") }
    return .append(upTo: last, state)
  }

  /// Whether the body, which ended without an error, has made the file whole at this size.
  func isWhole(_ size: Int64) -> Bool {
    switch self {
    case .complete: true
    case .fromStart(let state): size == state.total ?? size
    // Without a total, a part does not say whether it is the last.
    case .append(_, let state): size == state.total
    case .startOver, .invalid, .failed: false
    }
  }

  /// CFNetwork reports success for a chunked body that was cut off between two chunks (FB24495140), so its end has to be
  /// requested: a 416 says that nothing is missing.
  func mayBeCutOff(_ field: (String) -> String?) -> Bool {
    guard case .fromStart(let state) = self else { return false }
    return state.total == nil && state.validator != nil && field("Accept-Ranges")?.lowercased() == "bytes"
  }

  private static func isEncoded(_ field: (String) -> String?) -> Bool {
    field("Content-Encoding").map { $0.lowercased() != "identity" && !$0.isEmpty } ?? false
  }

  /// Bytes of a body, as they will arrive here; nil if the headers do not say: compressed, or in chunks.
  static func length(_ field: (String) -> String?) -> Int64? {
    if isEncoded(field) || field("Transfer-Encoding") != nil { return nil }
    return field("Content-Length").flatMap { ContentRange.number($0.trimmingCharacters(in: .whitespaces)) }
  }

  /// What a later request can send as If-Range. A weak entity tag cannot be used, and forbids the date too (RFC 9110
  /// §13.1.5); a date can if it is at least a second older than the response (§8.8.2.2).
  static func validator(_ field: (String) -> String?) -> String? {
    if let tag = field("ETag") { return tag.utf8.first == 34 && tag.utf8.count > 1 && tag.utf8.last == 34 ? tag : nil }
    guard let modified = field("Last-Modified"), let changed = RetryAfter.httpDate(modified, now: Date()),
      let sent = field("Date").flatMap({ RetryAfter.httpDate($0, now: Date()) }), sent > changed
    else { return nil }
    return modified
  }

  /// The response names another version than that of the partial file. Parts with a tag are joined only if both have it
  /// (RFC 9110 §15.3.7.3); a date need not be repeated.
  private static func isChanged(_ known: DownloadState, _ field: (String) -> String?, isPart: Bool) -> Bool {
    guard let validator = known.validator else { return true }
    let isTag = validator.utf8.first == 34
    if let now = field(isTag ? "ETag" : "Last-Modified") { return !now.utf8.elementsEqual(validator.utf8) }
    // A tag in place of the date may be that of another version.
    return isTag ? isPart : field("ETag") != nil
  }
}
