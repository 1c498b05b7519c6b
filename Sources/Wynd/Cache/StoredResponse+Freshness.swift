import Foundation

/// How long a response can be served (RFC 9111 §4.2).
nonisolated extension StoredResponse {
  /// Whether the response can be served without a request. `maxAge` is the max-age of the request, in seconds.
  func isFresh(at date: Foundation.Date, maxAge: Int? = nil) -> Bool {
    // The clock of the device has been set back, so the age is not known.
    if date < requestedAt { return false }
    if control.has("no-cache") { return false }
    let limit = maxAge.map { min(lifetime, Double($0)) } ?? lifetime
    return age(at: date) < limit
  }

  /// The age in seconds (RFC 9111 §4.2.3).
  func age(at date: Foundation.Date) -> Double {
    let sinceRequest = date.timeIntervalSince(requestedAt)
    // If the Date is before the request, another cache has stored the response, or the clocks differ.
    var ageAtRequest = 0.0
    if let sent = seconds("Date") { ageAtRequest = max(0, requestedAt.timeIntervalSince1970 - sent) }
    // If there are several values, the first one counts.
    let field = header("Age") ?? ""
    if let age = NetworkDigits.clamped(field.prefix { $0 != "," }) { ageAtRequest = max(ageAtRequest, Double(age)) }
    return ageAtRequest + sinceRequest
  }

  /// The freshness lifetime in seconds, by the server's clock (RFC 9111 §4.2.1). It is not positive if the server
  /// states none, or an Expires that is not a valid date.
  var lifetime: Double {
    if let maxAge = control.maxAge { return Double(maxAge) }
    guard let expires = seconds("Expires") else { return -.infinity }
    let sent = seconds("Date") ?? requestedAt.timeIntervalSince1970
    return min(expires - sent, Double(1 << 31))
  }

  /// A date in a header field, in seconds since 1970.
  func seconds(_ name: String) -> Double? {
    guard let text = header(name), let seconds = NetworkHTTPDate.seconds(text, now: requestedAt) else { return nil }
    return Double(seconds)
  }
}
