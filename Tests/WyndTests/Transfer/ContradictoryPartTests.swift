import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A 206 whose body is not what its Content-Range says. No such download may end as a success with another file.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct ContradictoryPartTests {
  static let file = someBytes(20_480)
  static let half = 10_240

  /// Where the Content-Range begins, where the body really begins, and what the response says about the length.
  struct Lie: Sendable, CustomTestStringConvertible {
    var first: Int
    var bodyStart: Int
    var bodyCount: Int
    var framing: Framing
    var isRepeated: Bool
    var testDescription: String {
      "range from \(first), \(bodyCount) bytes from \(bodyStart), \(framing.rawValue), \(isRepeated ? "always" : "once")"
    }
  }
  enum Framing: String, CaseIterable { case length, chunked, chunkedAndCut = "chunked and cut off" }

  static let lies: [Lie] = [0, 5_120, half, 12_000].flatMap { first in
    // The right bytes, and bytes from elsewhere, of the length of the range, shorter and longer.
    [first, half, 0].flatMap { bodyStart in
      [20_480 - first, half, 5_000, 20_480].flatMap { count in
        Framing.allCases.flatMap { framing in
          [false, true].map { isRepeated in
            Lie(first: first, bodyStart: bodyStart, bodyCount: count, framing: framing, isRepeated: isRepeated)
          }
        }
      }
    }
  }

  static func response(_ lie: Lie) -> ScriptedResponse {
    // A server that has no more bytes begins again.
    let body = Array((file + file).dropFirst(lie.bodyStart).prefix(lie.bodyCount))
    let fields = [("ETag", "\"1\""), ("Content-Range", "bytes \(lie.first)-20479/20480")]
    if lie.framing == .length {
      return ScriptedResponse([.send(ScriptedResponse.head(206, fields + [("Content-Length", "\(body.count)")]) + body)]
      )
    }
    let head = ScriptedResponse.head(206, fields + [("Transfer-Encoding", "chunked")])
    let end: [ScriptedResponse.Step] = lie.framing == .chunked ? [ScriptedResponse.text("0\r\n\r\n")] : [.close]
    return ScriptedResponse([.send(head + ScriptedResponse.chunk(body))] + end)
  }

  /// Whether the response is right, as far as anybody can tell: the bytes that it adds are those of its range.
  static func isRight(_ lie: Lie) -> Bool {
    lie.bodyStart == lie.first && lie.bodyCount == 20_480 - lie.first
  }

  /// A part of the right length at the right place, whose bytes are those of another place, is what no client can notice.
  static func cannotBeNoticed(_ lie: Lie) -> Bool {
    lie.first == half && lie.bodyStart != half && lie.bodyCount == half
  }

  @Test(arguments: lies.filter { !cannotBeNoticed($0) })
  func downloadNeverSucceedsWithAnotherFile(_ lie: Lie) async throws {
    let server = try LoopbackServer { request in
      if request.index == 0 { return .file(Self.file, for: request, cut: Self.half) }
      let isLie = request.value("Range") != nil && (request.index == 1 || lie.isRepeated)
      return isLie ? Self.response(lie) : .file(Self.file, for: request)
    }
    let folder = try Folder()
    let policy = RetryPolicy.quick(maxRetries: 3)
    let session = URLSession(configuration: .ephemeral)
    do {
      try await session.performNetworkDownload(server.url("/file"), to: folder.file(), policy: policy)
      #expect(try Data(contentsOf: folder.file()) == Data(Self.file))
    } catch {
      // Only a server that goes on to lie may keep the download from its end.
      #expect(lie.isRepeated && folder.names.isEmpty, "\(error)")
    }
  }

  /// It could go on for ever, and fill the disk.
  @Test func endsABodyThatIsTooLongAtOnce() async throws {
    let server = try LoopbackServer { request in
      if request.index == 0 { return .file(Self.file, for: request, cut: Self.half) }
      if request.index > 1 { return .file(Self.file, for: request) }
      let fields = [("ETag", "\"1\""), ("Content-Range", "bytes 10240-20479/20480"), ("Transfer-Encoding", "chunked")]
      let chunk = Array("2801\r\n".utf8) + Self.file.suffix(Self.half) + Array("x\r\n".utf8)
      return ScriptedResponse([.send(ScriptedResponse.head(206, fields) + chunk), .hang])
    }
    let folder = try Folder()
    let policy = RetryPolicy.quick()
    let session = URLSession(configuration: .ephemeral)
    let done = try await session.performNetworkDownload(server.url("/file"), to: folder.file(), policy: policy)
    #expect(try Data(contentsOf: folder.file()) == Data(Self.file))
    guard case .generalError(TransferError.changed("the rest is too long"))? = done.attempts[1].error else {
      Issue.record("\(done.attempts[1])")
      return
    }
  }

  /// The same version was 20,480 bytes long, and a 200 without a length has only its second half.
  @Test(arguments: [true, false]) func a200ThatHoldsOnlyTheRestIsNotTheBeginning(isCut: Bool) async throws {
    let rest = Self.file.dropFirst(Self.half)
    let server = try LoopbackServer { request in
      if request.index == 0 { return .file(Self.file, for: request, cut: Self.half) }
      if request.index > 1 { return .file(Self.file, for: request) }
      let head = ScriptedResponse.head(200, [("ETag", "\"1\""), ("Transfer-Encoding", "chunked")])
      return ScriptedResponse([
        .send(head + ScriptedResponse.chunk(rest)), isCut ? .close : ScriptedResponse.text("0\r\n\r\n"),
      ])
    }
    let folder = try Folder()
    let policy = RetryPolicy.quick()
    let session = URLSession(configuration: .ephemeral)
    try await session.performNetworkDownload(server.url("/file"), to: folder.file(), policy: policy)
    #expect(try Data(contentsOf: folder.file()) == Data(Self.file))
  }

  /// A part that begins earlier repeats bytes that are there: they are neither lost nor counted again.
  @Test func keepsTheBytesThatAnEarlierPartRepeats() async throws {
    let server = try LoopbackServer { request in
      if request.index == 0 { return .file(Self.file, for: request, cut: Self.half) }
      if request.index > 1 { return .file(Self.file, for: request) }
      // Cut off while it repeats what is there.
      let fields = [("ETag", "\"1\""), ("Content-Range", "bytes 0-20479/20480"), ("Content-Length", "20480")]
      return ScriptedResponse([.send(ScriptedResponse.head(206, fields) + Self.file.prefix(5_000)), .close])
    }
    let folder = try Folder()
    let reports = Box<[TransferProgress]>([])
    let policy = RetryPolicy.quick()
    let session = URLSession(configuration: .ephemeral)
    try await session.performNetworkDownload(
      server.url("/file"), to: folder.file(), policy: policy, onProgress: reports.append)
    #expect(try Data(contentsOf: folder.file()) == Data(Self.file))
    #expect(server.values(of: "Range") == [nil, "bytes=10240-", "bytes=10240-"])
    let amounts = try #require(reports.value).map(\.completed)
    #expect(amounts == amounts.sorted())
  }
}
