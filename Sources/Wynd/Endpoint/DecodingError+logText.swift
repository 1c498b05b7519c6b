import Foundation

nonisolated extension DecodingError: NetworkLoggableError {
  /// The place and the types, and no value: "users[3].email: expected String, found null".
  var networkLogText: String {
    switch self {
    case .typeMismatch(let type, let info), .valueNotFound(let type, let info):
      // "Expected to decode Int but found a string instead." The app's own types may write anything here.
      let got = ["string", "number", "bool", "array", "dictionary", "null"].first(where: info.debugDescription.contains)
      return "\(Self.place(info.codingPath)): expected \(type), found \(got ?? "another type")"
    case .keyNotFound(let key, let info): return "\(Self.place(info.codingPath + [key])): is missing"
    case .dataCorrupted(let info):
      let reason = (info.underlyingError as? any NetworkLoggableError)?.networkLogText ?? Self.fixedReason(info)
      return "\(Self.place(info.codingPath)): is not valid" + (reason.map { " (\($0))" } ?? "")
    @unknown default: return "the body: is not valid"
    }
  }

  private static func place(_ path: [any CodingKey]) -> String { path.networkPath ?? "the body" }

  /// A sentence of Foundation that contains nothing of the body; nil for any other sentence.
  private static func fixedReason(_ info: Context) -> String? {
    let sentences = [
      "Expected date string to be ISO8601-formatted", "Date string does not match format expected by formatter",
      "Invalid URL string", "Encountered Data is not valid Base64", "Attempted to decode UUID from invalid UUID string",
    ]
    return sentences.first { info.debugDescription.hasPrefix($0) }
  }
}
