import Foundation
import Testing

@testable import Wynd

extension DownloadDecision {
  fileprivate static func fromStart(_ state: DownloadState) -> Self { .write(from: 0, end: state.total, state) }
  fileprivate static func append(from offset: Int64 = 20, upTo last: Int64, _ state: DownloadState) -> Self {
    .write(from: offset, end: last + 1, state)
  }
}

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

  // MARK: What a response means for the file

  static let tag = ["ETag": "\"1\""]
  static let date = ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 2022 08:49:37 GMT"]
  static let known = DownloadState(source: "s", validator: "\"1\"", total: 40)
  static let dated = DownloadState(source: "s", validator: date["Last-Modified"], total: 40)
  static func state(_ validator: String? = nil, _ total: Int64? = nil) -> DownloadState {
    DownloadState(source: "s", validator: validator, total: total)
  }

  /// Status, header fields, what is known, the size of the partial file, what follows.
  static let rows: [(Int, [String: String], DownloadState, Int64, DownloadDecision)] = [
    // The whole file.
    (200, [:], state(), 0, .fromStart(state())),
    (200, ["Content-Length": "40"], state(), 0, .fromStart(state(nil, 40))),
    (200, tag.merging(["Content-Length": "30"]) { $1 }, known, 20, .fromStart(state("\"1\"", 30))),
    (203, tag, known, 20, .fromStart(state("\"1\""))),
    (200, tag.merging(["Content-Encoding": "gzip", "Content-Length": "9"]) { $1 }, state(), 0, .fromStart(state())),
    (200, ["Content-Length": "40", "Transfer-Encoding": "chunked"], state(), 0, .fromStart(state())),
    (200, ["ETag": "W/\"1\""].merging(date) { $1 }, state(), 0, .fromStart(state())),
    (200, date, state(), 0, .fromStart(state(date["Last-Modified"]))),
    // Everything else that is a success brings no file.
    (201, tag, known, 0, .invalid("status 201")), (204, tag, known, 20, .invalid("status 204")),
    (207, tag, known, 20, .invalid("status 207")), (304, tag, known, 20, .invalid("status 304")),
    // A part.
    (206, tag.merging(["Content-Range": "bytes 20-39/40"]) { $1 }, known, 20, .append(upTo: 39, known)),
    (206, tag.merging(["Content-Range": "bytes 20-29/*"]) { $1 }, known, 20, .append(upTo: 29, known)),
    (206, tag.merging(["Content-Range": "bytes 0-9/40"]) { $1 }, state(), 0, .append(from: 0, upTo: 9, known)),
    (206, ["Content-Range": "bytes 20-39/40"], dated, 20, .append(upTo: 39, dated)),
    (206, date.merging(["Content-Range": "bytes 20-39/40"]) { $1 }, dated, 20, .append(upTo: 39, dated)),
    // Of another version, as far as anybody can know.
    (206, ["ETag": "\"2\"", "Content-Range": "bytes 20-39/40"], known, 20, .startOver),
    (206, ["ETag": "W/\"1\"", "Content-Range": "bytes 20-39/40"], known, 20, .startOver),
    (206, ["Content-Range": "bytes 20-39/40"], known, 20, .startOver),
    (206, tag.merging(["Content-Range": "bytes 20-39/40"]) { $1 }, dated, 20, .startOver),
    (206, tag.merging(["Content-Range": "bytes 20-39/40"]) { $1 }, state(), 20, .startOver),
    (206, tag.merging(["Content-Range": "bytes 20-39/40", "Content-Encoding": "br"]) { $1 }, known, 20, .startOver),
    // Wrong.
    (206, tag, known, 20, .invalid("a 206 without a usable Content-Range")),
    (
      206, ["Content-Range": "bytes 0-9/40", "Content-Encoding": "br"], state(), 0,
      .invalid("a part of a compressed file")
    ),
    (
      206, tag.merging(["Content-Range": "bytes 19-39/40"]) { $1 }, known, 20,
      .invalid("a part from byte 19, requested was 20")
    ),
    (
      206, tag.merging(["Content-Range": "bytes 20-40/41"]) { $1 }, known, 20, .invalid("a part of 41 bytes, not of 40")
    ),
    (206, tag.merging(["Content-Range": "bytes 20-40/*"]) { $1 }, known, 20, .invalid("a part beyond the end")),
    // Nothing is missing, or nothing is right.
    (416, tag.merging(["Content-Range": "bytes */40"]) { $1 }, known, 40, .complete),
    (416, ["Content-Range": "bytes */40"], state("\"1\""), 40, .complete),
    (416, ["Content-Range": "bytes */40"], known, 20, .startOver),
    (416, ["ETag": "\"2\"", "Content-Range": "bytes */40"], known, 40, .startOver),
    (416, tag, known, 40, .startOver),
    // As any call fails.
    (416, tag, state(), 0, .failed), (401, tag, known, 20, .failed), (503, [:], known, 20, .failed),
  ]

  @Test(arguments: rows.indices) func responseIsTakenForWhatItIs(_ row: Int) {
    let (status, fields, known, offset, expected) = Self.rows[row]
    #expect(DownloadDecision(status: status, offset: offset, known: known) { fields[$0] } == expected)
  }

  @Test func fileIsWholeWhenNothingIsMissing() {
    let table: [(DownloadDecision, Int64, Bool)] = [
      (.complete, 7, true), (.fromStart(Self.state()), 7, true), (.fromStart(Self.known), 40, true),
      (.fromStart(Self.known), 39, false), (.append(upTo: 39, Self.known), 40, true),
      (.append(upTo: 29, Self.known), 30, false), (.append(upTo: 29, Self.state("\"1\"")), 30, false),
      (.startOver, 40, false), (.invalid(""), 40, false), (.failed, 40, false),
    ]
    for (step, size, expected) in table { #expect(step.isWhole(size) == expected, "\(step)") }
  }

  /// Finding B2: only a part can be requested that the server can send, of a file whose length is unknown.
  @Test func endIsRequestedWhereItMayBeMissing() {
    let table: [(DownloadDecision, String?, Bool)] = [
      (.fromStart(Self.state("\"1\"")), "bytes", true), (.fromStart(Self.state("\"1\"")), "Bytes", true),
      (.fromStart(Self.state("\"1\"")), "none", false), (.fromStart(Self.state("\"1\"")), nil, false),
      (.fromStart(Self.state()), "bytes", false), (.fromStart(Self.known), "bytes", false),
      (.append(upTo: 9, Self.state("\"1\"")), "bytes", false), (.complete, "bytes", false),
    ]
    for (step, ranges, expected) in table { #expect(step.mayBeCutOff { _ in ranges } == expected, "\(step)") }
  }
}

/// Parts of a transfer that no server can bring about at will.
@Suite(.timeLimit(.minutes(5))) struct TransferPartsTests {
  @Test func progressIsToldWhenItFallsEvenIfTheLengthStays() async {
    let told = Box<[Int64]>([])
    let reporter = ProgressReporter { progress in told.update { $0.append(progress.completed) } }
    for completed in [Int64(0), 900_000, 0, 1, 1_000_000, 1_000_000] {
      reporter.report(completed, of: 1_000_000)
      await reporter.reportsAreDelivered()
    }
    // The first tells the length, and neither a single byte nor the same again is worth a report.
    #expect(told.value == [0, 900_000, 0, 1_000_000])
  }

  /// Its call ends between the moment when an attempt begins and the one when it opens the file.
  @Test func downloadThatHasEndedOpensNoFile() async throws {
    let folder = try Folder()
    let script = NetworkScript.scripted([.ok("x")])
    let options = DownloadOptions(resumes: true)
    let download = Download(destination: folder.file(), options: options, progress: ProgressReporter(nil))
    let request = URLRequest(url: try #require(URL(string: "https://a.example/")))
    let plan = download.plan(request, nil, nil)
    guard case .failure(.cancelled) = download.end(.failure(.cancelled)) else { Issue.record("not canceled"); return }
    guard case .failure(let error) = await script.perform(plan) else { Issue.record("not canceled"); return }
    #expect(error.isCancellation && script.requests.isEmpty)
    #expect(folder.names.isEmpty)
  }
}
