// Headers: the header fields and URLs of requests and responses: which are valid, which are secret, what a redirect
// keeps, and how dates and numbers are read. Text of a server goes through one function for each kind.
// Start with NetworkHeaders.swift, or with NetworkRedirect.swift for what is sent after a redirect.

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension HTTPURLResponse {
  /// The value of a header field that may occur once; nil if the response does not have it.
  ///
  /// Some servers and proxies send such a field twice, and URLSession joins the values with “, ”. Equal values count as
  /// one. Different values remain joined, because it is not known which of them is right.
  func networkValue(of field: String) -> String? { value(forHTTPHeaderField: field).map(Self.withoutRepetitions) }

  /// `a` for `a, a`. A value may contain “, ” itself, as a date does.
  private static func withoutRepetitions(_ joined: String) -> String {
    let bytes = Array((joined + ", ").utf8)
    for length in stride(from: 2, through: bytes.count / 2, by: 1) where bytes.count.isMultiple(of: length) {
      let isRepeated = bytes.dropFirst(length).elementsEqual(bytes.dropLast(length))
      if isRepeated { return String(decoding: bytes.prefix(length - 2), as: UTF8.self) }
    }
    return joined
  }
}
