import Testing

@testable import Wynd

/// Content-Range (RFC 9110 §14.4), a pure rule.
struct ContentRangeTests {
  @Test func contentRangesAreReadOrRefused() {
    let table: [(String, first: Int64?, last: Int64?, total: Int64?)] = [
      ("bytes 5-9/200", 5, 9, 200), ("bytes 5-9/*", 5, 9, nil), ("Bytes 0-0/1", 0, 0, 1),
      ("bytes */200", nil, nil, 200),
      (" bytes 5-9/200 ", 5, 9, 200),
    ]
    for row in table {
      let range = ContentRange(row.0)
      #expect(range?.first == row.first && range?.last == row.last && range?.total == row.total && range != nil)
    }
    for text in [
      "", "bytes", "bytes ", "bytes 5-9", "bytes 5-9/", "bytes -9/200", "bytes 5-/200", "bytes 9-5/200",
      "bytes 5-200/200",
      "bytes */*", "bytes=5-9/200", "bytes 5-9/200/200", "bytes +5-9/200", "bytes 5-9999999999999999999/*",
      "items 5-9/200",
      "bytes 5-9/-1", "bytes ٥-٩/200",
    ] {
      #expect(ContentRange(text) == nil, "\(text)")
    }
  }
}
