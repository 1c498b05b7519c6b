import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension HTTPURLResponse {
  /// The Content-Type; empty without one. If several were sent, the last valid one counts, as in browsers (WHATWG
  /// Fetch, “extract a MIME type”).
  var networkContentType: String {
    let value = networkValue(of: "Content-Type") ?? ""
    return NetworkListField.split(value, at: ",").last { Self.isMediaType(Self.withoutParameters($0)) } ?? value
  }

  /// The Content-Type without parameters, in lowercase; empty without one.
  var networkMediaType: String { Self.withoutParameters(networkContentType).lowercased() }

  private static func withoutParameters(_ type: String) -> String {
    String(type.unicodeScalars.prefix { $0 != ";" }).trimmingCharacters(in: .whitespaces)
  }

  /// Whether the text is `type/subtype`.
  static func isMediaType(_ text: String) -> Bool {
    let names = text.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
    return names.count == 2 && names.allSatisfy(NetworkRequestValidation.isToken)
  }
}
