import Foundation

/// How long a response can be served (RFC 9111 §4.2). Its dates are read once. Who may get a stale one, and of what age:
/// NetworkCachePermissions.
nonisolated struct ResponseFreshness: Sendable, Codable {
  /// By the clock of the device. The time until the response arrived counts towards its age (§4.2.3).
  let requestedAt: Foundation.Date
  /// In seconds.
  private let ageAtRequest: Double
  /// In seconds, by the server's clock (§4.2.1). Zero if the server states none, or an Expires that is not a valid date,
  /// or if it has to be asked each time.
  let lifetime: Double
  /// 2³¹ seconds (RFC 9111 §1.2.2).
  static let longest = 2_147_483_648.0

  /// The names of the header fields are in lowercase.
  init(_ control: NetworkCacheControl, _ headers: [String: String], requestedAt: Foundation.Date) {
    func seconds(_ name: String) -> Double? {
      headers[name].flatMap { NetworkHTTPDate.seconds($0, now: requestedAt) }.map(Double.init)
    }
    self.requestedAt = requestedAt
    let requested = requestedAt.timeIntervalSince1970
    let sent = seconds("date") ?? requested
    // If there are several values, the first one counts.
    let age = NetworkDigits.clamped((headers["age"] ?? "").prefix { $0 != "," }) ?? 0
    // If the Date is before the request, another cache has stored the response, or the clocks differ.
    ageAtRequest = max(Double(age), requested - sent)
    var stated = 0.0
    if let maxAge = control.maxAge {
      stated = Double(maxAge)
    } else if let expires = seconds("expires") {
      stated = expires - sent
    }
    lifetime = control.noCache ? 0 : max(0, min(stated, Self.longest))
  }

  /// Whether the response can be served without a request. `maxAge` is the max-age of the request, in seconds.
  func isFresh(at date: Foundation.Date, maxAge: Int64? = nil) -> Bool {
    // The clock of the device has been set back, so the age is not known.
    if date < requestedAt { return false }
    return age(at: date) < min(lifetime, maxAge.map(Double.init) ?? .infinity)
  }

  /// The age in seconds.
  func age(at date: Foundation.Date) -> Double { ageAtRequest + date.timeIntervalSince(requestedAt) }
}
