// The tables. A number that does not fit ends the program, or is another one.

let knownDates: [(String, Double)] = [
  ("01 Jan 2100 00:00:00 GMT", 4_102_444_800), ("31 Dec 9999 23:59:59 GMT", 253_402_300_799),
  ("19 Jan 2038 03:14:08 GMT", 2_147_483_648), ("01 Jan 1970 00:00:00 GMT", 0),
]
let limits = [
  "0", "2147483647", "2147483648", "4294967295", "4294967296", "999999999999999", "1000000000000000",
  "1000000000000001", "9223372036854775807", "9223372036854775808", "18446744073709551616",
]

@main struct Main {
  static func main() {
    var failures = 0
    func expect(_ isTrue: Bool, _ text: String) {
      if !isTrue {
        failures += 1
        print("wrong: \(text)")
      }
    }
    expect(Int.bitWidth == 32, "an Int of 32 bits")
    let now = Date(timeIntervalSince1970: 1_800_000_000)

    // Numbers.
    let values: [Int64?] = [
      0, 2_147_483_647, 2_147_483_648, 4_294_967_295, 4_294_967_296, 999_999_999_999_999, 1_000_000_000_000_000,
    ]
    for (index, text) in limits.enumerated() {
      let value = index < values.count ? values[index] : nil
      expect(NetworkDigits.number(text) == value, "number \(text)")
      expect(NetworkDigits.clamped(text) == value ?? NetworkDigits.largest, "clamped \(text)")
      let thousandths = NetworkDigits.thousandths(text) ?? 0
      expect(thousandths / 1_000_000 == (value ?? NetworkDigits.largest) / 1000, "thousandths \(text)")
    }

    // Dates, and what is calculated from them.
    let names = ["Fri, 01 Jan 2100 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Tue, 19 Jan 2038 03:14:08 GMT"]
    let seconds: [Int64] = [4_102_444_800, 253_402_300_799, 2_147_483_648]
    for (name, expected) in zip(names, seconds) {
      expect(NetworkHTTPDate.seconds(name, now: now) == expected, name)
      let response = HTTPURLResponse(503, [("Retry-After", name)])
      let wait = NetworkRetryAfter.wait(asked: response, now: now)?.wait
      expect(wait == .seconds(min(expected - 1_800_000_000, 1_000_000_000)), "Retry-After: \(name)")
      let headers = ["date": "Thu, 01 Jan 1970 00:00:00 GMT", "expires": name]
      let freshness = ResponseFreshness(NetworkCacheControl(nil), headers, requestedAt: now)
      expect(freshness.lifetime == min(Double(expected), 2_147_483_648), "Expires: \(name)")
    }

    // Waits.
    for (field, value, expected) in [
      ("Retry-After", "2147484", Swift.Duration.seconds(2_147_484)),
      ("Retry-After", "9223372036854775807", .seconds(1_000_000_000)),
      ("X-RateLimit-Reset", "1800000030", .seconds(30)), ("X-RateLimit-Reset", "1800000030000", .seconds(30)),
      ("X-RateLimit-Reset", "9223372036854775807", .seconds(1_000_000_000)),
    ] {
      let wait = NetworkRetryAfter.wait(asked: HTTPURLResponse(429, [(field, value)]), now: now)?.wait
      expect(wait == expected, "\(field): \(value)")
    }
    expect(Backoff.constant(.noLimit).delay(retry: 2_147_483_647, random: 0) == .noLimit, "no limit")
    let longest = Backoff.exponential(base: .seconds(1), cap: .noLimit).delay(retry: 100, random: 1)
    expect(longest == .noLimit, "the longest backoff")

    // A cache.
    for (text, isFresh) in [
      ("max-age=60", true), ("max-age=2147483648", true), ("max-age=99999999999999999999", true), ("max-age=0", false),
    ] {
      let freshness = ResponseFreshness(NetworkCacheControl(text), [:], requestedAt: now)
      expect(freshness.isFresh(at: now + 1) == isFresh, text)
    }
    for age in limits {
      let freshness = ResponseFreshness(NetworkCacheControl("max-age=60"), ["age": age], requestedAt: now)
      expect(freshness.isFresh(at: now + 1) == (age == "0"), "Age: \(age)")
    }
    var stored = NetworkLeastRecentlyUsed<String, Int>(capacity: 100)
    stored.lastUse = NetworkDigits.largest
    stored.insert(1, size: 1, for: "a")
    expect(stored.entries["a"]?.use == NetworkDigits.largest + 1, "the number of a use")

    // Ranges of a file of more than 2 GB.
    for last in limits {
      for total in limits + ["*"] {
        for (status, offset) in [(206, Int64(0)), (206, 3_000_000_000), (416, 1)] {
          let fields = ["Content-Range": "bytes 0-\(last)/\(total)", "Content-Length": last, "ETag": "\"1\""]
          let known = NetworkDownloadState(source: "", validator: "\"1\"", total: nil)
          _ = NetworkDownloadDecision(status: status, offset: offset, known: known) { fields[$0] }
        }
      }
    }
    expect(NetworkContentRange("bytes 0-4999999999/5000000000")?.last == 4_999_999_999, "5 GB")

    // Events.
    var parser = NetworkServerSentEventParser()
    for (text, expected) in [
      ("2147483648", Swift.Duration.seconds(86_400)), ("5", .milliseconds(5)),
      ("999999999999999999999", .milliseconds(5)),
    ] {
      _ = try? parser.take("retry: \(text)")
      expect(parser.retry == expected, "retry: \(text)")
    }
    print(failures == 0 ? "right with 32 bits" : "\(failures) are wrong with 32 bits")
  }
}
