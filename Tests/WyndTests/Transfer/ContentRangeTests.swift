import Foundation
import Testing

@testable import Wynd

extension NetworkDownloadDecision {
  fileprivate static func fromStart(_ state: NetworkDownloadState, isLengthStated: Bool = false) -> Self {
    .write(NetworkDownloadBody(start: 0, end: state.total, isLengthStated: isLengthStated, kept: 0), state)
  }
  fileprivate static func append(
    from offset: Int64 = 20, upTo last: Int64, _ state: NetworkDownloadState, kept: Int64 = 20,
    isLengthStated: Bool = false
  ) -> Self {
    .write(NetworkDownloadBody(start: offset, end: last + 1, isLengthStated: isLengthStated, kept: kept), state)
  }
}

/// Parsing of Content-Range (RFC 9110 §14.4), and the decision that a download makes for a response.
struct ContentRangeTests {
  @Test func parsesContentRange() {
    let table: [(String, first: Int64?, last: Int64?, total: Int64?)] = [
      ("bytes 5-9/200", 5, 9, 200), ("bytes 5-9/*", 5, 9, nil), ("Bytes 0-0/1", 0, 0, 1),
      ("bytes */200", nil, nil, 200),
      (" bytes 5-9/200 ", 5, 9, 200),
    ]
    for row in table {
      let range = NetworkContentRange(row.0)
      #expect(range?.first == row.first && range?.last == row.last && range?.total == row.total && range != nil)
    }
    for text in [
      "", "bytes", "bytes ", "bytes 5-9", "bytes 5-9/", "bytes -9/200", "bytes 5-/200", "bytes 9-5/200",
      "bytes 5-200/200",
      "bytes */*", "bytes=5-9/200", "bytes 5-9/200/200", "bytes +5-9/200", "bytes 5-9999999999999999999/*",
      "items 5-9/200",
      "bytes 5-9/-1", "bytes ٥-٩/200",
    ] {
      #expect(NetworkContentRange(text) == nil, "\(text)")
    }
  }

  /// RFC 9110 §14.1.2: recipients must expect large numbers, and prevent overflows.
  @Test(arguments: HostileText.numbers) func noNumberOverflows(_ number: String) throws {
    for field in [
      "bytes 0-\(number)/*", "bytes 0-\(number)/\(number)", "bytes \(number)-\(number)/*", "bytes 0-1/\(number)",
      "bytes */\(number)", "bytes 1-\(number)/\(number)0",
    ] {
      let range = NetworkContentRange(field)
      #expect([range?.first, range?.last, range?.total].allSatisfy { $0 ?? 0 <= 1_000_000_000_000_000 })
      for (status, offset) in [(206, Int64(0)), (206, 1), (206, .max), (200, 0), (416, 1)] {
        for length in ["5", number, nil] {
          let fields = ["Content-Range": field, "Content-Length": length, "ETag": "\"1\""]
          for state in [Self.known, Self.state("\"1\"", .max), Self.state()] {
            let decision = NetworkDownloadDecision(status: status, offset: offset, known: state) { fields[$0] ?? nil }
            guard case .write(let body, _) = decision else { continue }
            #expect(body.start >= 0 && body.end ?? 0 >= body.start)
          }
        }
      }
    }
  }

  /// The process ends otherwise, in each of the ways that a response reaches it.
  @Test(arguments: ["9223372036854775806", "9223372036854775807", "1000000000000000"])
  func downloadSurvivesALargeRange(_ last: String) async throws {
    let folder = try Folder()
    let head = ["Content-Range": "bytes 0-\(last)/*"]
    let script = NetworkScript([.response(206, headers: head, body: Data("hello".utf8)), .ok("whole")])
    _ = try? await script.performNetworkDownload(URL.example, to: folder.file(), policy: .quick())
    #expect(folder.text() == nil || folder.text() == "whole")
  }

  // MARK: The meaning of a response

  static let tag = ["ETag": "\"1\""]
  static let date = ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 2022 08:49:37 GMT"]
  static let known = NetworkDownloadState(source: "s", validator: "\"1\"", total: 40)
  static let dated = NetworkDownloadState(source: "s", validator: date["Last-Modified"], total: 40)
  static func state(_ validator: String? = nil, _ total: Int64? = nil) -> NetworkDownloadState {
    NetworkDownloadState(source: "s", validator: validator, total: total)
  }

  /// Status, header fields, known state, size of the partial file, expected decision.
  static let rows: [(Int, [String: String], NetworkDownloadState, Int64, NetworkDownloadDecision)] = [
    // The whole file.
    (200, [:], state(), 0, .fromStart(state())),
    (200, ["Content-Length": "40"], state(), 0, .fromStart(state(nil, 40), isLengthStated: true)),
    (203, ["ETag": "\"2\""], known, 20, .fromStart(state("\"2\""))),
    // The version is known, and so is its length.
    (200, tag.merging(["Content-Length": "40"]) { $1 }, known, 20, .fromStart(known, isLengthStated: true)),
    (200, tag, known, 20, .fromStart(known)),
    (200, date, dated, 20, .fromStart(dated)),
    (200, tag.merging(["Content-Length": "30"]) { $1 }, known, 20, .startOver),
    (200, date.merging(["Content-Length": "30"]) { $1 }, dated, 20, .startOver),
    (
      200, tag.merging(["Content-Length": "30"]) { $1 }, known, 0, .invalid("30 bytes, not 40, of the same version")
    ),
    // Perhaps another version, or the length of something else.
    (200, ["ETag": "\"2\"", "Content-Length": "30"], known, 20, .fromStart(state("\"2\"", 30), isLengthStated: true)),
    (200, ["Content-Length": "30"], known, 20, .fromStart(state(nil, 30), isLengthStated: true)),
    (
      200, tag.merging(["Content-Length": "30"]) { $1 }, state("\"1\""), 20,
      .fromStart(state("\"1\"", 30), isLengthStated: true)
    ),
    (200, tag.merging(["Content-Encoding": "gzip", "Content-Length": "9"]) { $1 }, known, 20, .fromStart(state())),
    (200, tag.merging(["Content-Encoding": "gzip", "Content-Length": "9"]) { $1 }, state(), 0, .fromStart(state())),
    (200, ["Content-Length": "40", "Transfer-Encoding": "chunked"], state(), 0, .fromStart(state())),
    (200, ["ETag": "W/\"1\""].merging(date) { $1 }, state(), 0, .fromStart(state())),
    (200, date, state(), 0, .fromStart(state(date["Last-Modified"]))),
    // Everything else that is a success brings no file.
    (201, tag, known, 0, .invalid("status 201")), (304, tag, known, 0, .invalid("status 304")),
    (204, tag, known, 20, .startOver), (207, tag, known, 20, .startOver), (304, tag, known, 20, .startOver),
    // A part.
    (206, tag.merging(["Content-Range": "bytes 20-39/40"]) { $1 }, known, 20, .append(upTo: 39, known)),
    (206, tag.merging(["Content-Range": "bytes 20-29/*"]) { $1 }, known, 20, .append(upTo: 29, known)),
    (206, tag.merging(["Content-Range": "bytes 0-9/40"]) { $1 }, state(), 0, .append(from: 0, upTo: 9, known, kept: 0)),
    (206, ["Content-Range": "bytes 20-39/40"], dated, 20, .append(upTo: 39, dated)),
    (206, date.merging(["Content-Range": "bytes 20-39/40"]) { $1 }, dated, 20, .append(upTo: 39, dated)),
    // Its length is that of the range, or not.
    (
      206, tag.merging(["Content-Range": "bytes 20-39/40", "Content-Length": "20"]) { $1 }, known, 20,
      .append(upTo: 39, known, isLengthStated: true)
    ),
    (206, tag.merging(["Content-Range": "bytes 20-39/40", "Content-Length": "19"]) { $1 }, known, 20, .startOver),
    (206, tag.merging(["Content-Range": "bytes 0-39/40", "Content-Length": "20"]) { $1 }, known, 20, .startOver),
    (
      206, tag.merging(["Content-Range": "bytes 0-9/40", "Content-Length": "20"]) { $1 }, state(), 0,
      .invalid("20 bytes, which are not those of the Content-Range")
    ),
    // Possibly of another version.
    (206, ["ETag": "\"2\"", "Content-Range": "bytes 20-39/40"], known, 20, .startOver),
    (206, ["ETag": "W/\"1\"", "Content-Range": "bytes 20-39/40"], known, 20, .startOver),
    (206, ["Content-Range": "bytes 20-39/40"], known, 20, .startOver),
    (206, tag.merging(["Content-Range": "bytes 20-39/40"]) { $1 }, dated, 20, .startOver),
    (206, tag.merging(["Content-Range": "bytes 20-39/40"]) { $1 }, state(), 20, .startOver),
    (206, tag.merging(["Content-Range": "bytes 20-39/40", "Content-Encoding": "br"]) { $1 }, known, 20, .startOver),
    // More than the rest.
    (206, tag.merging(["Content-Range": "bytes 19-39/40"]) { $1 }, known, 20, .append(from: 19, upTo: 39, known)),
    (206, tag.merging(["Content-Range": "bytes 0-39/40"]) { $1 }, known, 20, .append(from: 0, upTo: 39, known)),
    (206, tag.merging(["Content-Range": "bytes 16-20/*"]) { $1 }, known, 20, .append(from: 16, upTo: 20, known)),
    (206, ["Content-Range": "bytes 19-39/40"], known, 20, .startOver),
    // Not the rest. Without a partial file, nothing is left to try.
    (206, tag, known, 20, .startOver), (206, tag, state(), 0, .invalid("a 206 without a usable Content-Range")),
    (206, tag.merging(["Content-Range": "bytes 21-39/40"]) { $1 }, known, 20, .startOver),
    (206, tag.merging(["Content-Range": "bytes 0-19/40"]) { $1 }, known, 20, .startOver),
    (206, tag.merging(["Content-Range": "bytes 20-40/*"]) { $1 }, known, 20, .startOver),
    (
      206, tag.merging(["Content-Range": "bytes 20-39/40", "Content-Type": "Multipart/Byteranges; boundary=x"]) { $1 },
      known, 20, .startOver
    ),
    (
      206, tag.merging(["Content-Range": "bytes 1-39/40"]) { $1 }, state(), 0,
      .invalid("a part from byte 1, requested was 0")
    ),
    (206, tag.merging(["Content-Range": "bytes 0-9/30"]) { $1 }, known, 0, .invalid("a part of 30 bytes, not of 40")),
    (
      206, ["ETag": "\"2\"", "Content-Range": "bytes 0-9/30"], known, 0,
      .append(from: 0, upTo: 9, state("\"2\"", 30), kept: 0)
    ),
    (
      206, ["Content-Range": "bytes 0-9/40", "Content-Encoding": "br"], state(), 0,
      .invalid("a part of a compressed file")
    ),
    // Nothing is missing, or nothing is right.
    (416, tag.merging(["Content-Range": "bytes */40"]) { $1 }, known, 40, .complete),
    (416, ["Content-Range": "bytes */40"], state("\"1\""), 40, .complete),
    (416, ["Content-Range": "bytes */40"], known, 20, .startOver),
    (416, ["ETag": "\"2\"", "Content-Range": "bytes */40"], known, 40, .startOver),
    // As any call fails.
    (416, tag, state(), 0, .failed), (401, tag, known, 20, .failed), (503, [:], known, 20, .failed),
  ]

  @Test(arguments: rows) func decidesWhatEachResponseMeansForTheFile(
    _ status: Int, _ fields: [String: String], _ known: NetworkDownloadState, _ offset: Int64,
    _ expected: NetworkDownloadDecision
  ) {
    #expect(NetworkDownloadDecision(status: status, offset: offset, known: known) { fields[$0] } == expected)
  }

  @Test func recognizesACompleteFile() {
    let table: [(NetworkDownloadDecision, Int64, Bool)] = [
      (.complete, 7, true), (.fromStart(Self.state()), 7, true), (.fromStart(Self.known), 40, true),
      (.fromStart(Self.known), 39, false), (.append(upTo: 39, Self.known), 40, true),
      (.append(upTo: 29, Self.known), 30, false), (.append(upTo: 29, Self.state("\"1\"")), 30, false),
      (.startOver, 40, false), (.invalid(""), 40, false), (.failed, 40, false),
    ]
    for (step, size, expected) in table { #expect(step.isWhole(size) == expected, "\(step)") }
  }

  /// The end of a file is requested only if its length is unknown and the server supports ranges.
  @Test func requestsTheEndOfAFileOfUnknownLength() {
    let table: [(NetworkDownloadDecision, String?, Bool)] = [
      (.fromStart(Self.state("\"1\"")), "bytes", true), (.fromStart(Self.state("\"1\"")), "Bytes", true),
      (.fromStart(Self.state("\"1\"")), "none", false), (.fromStart(Self.state("\"1\"")), nil, false),
      (.fromStart(Self.state()), "bytes", false), (.fromStart(Self.known), "bytes", false),
      (.append(upTo: 9, Self.state("\"1\"")), "bytes", false), (.complete, "bytes", false),
    ]
    for (step, ranges, expected) in table { #expect(step.mayBeCutOff { _ in ranges } == expected, "\(step)") }
  }
}
