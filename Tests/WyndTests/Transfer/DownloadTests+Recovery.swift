import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Responses that contradict the partial file must not fail every later download.
extension DownloadTests {
  static let large = someBytes(200_000)

  /// A part, with the bytes that its Content-Range states.
  static func block(_ first: Int, _ last: Int, _ total: String = "200000", _ fields: [(String, String)] = tag)
    -> ScriptedResponse
  {
    part("bytes \(first)-\(last)/\(total)", Array(large[first...last]), fields)
  }
  static func response(_ status: Int, _ count: Int, _ fields: [(String, String)] = tag) -> ScriptedResponse {
    let bytes = (large + large).prefix(count)
    return ScriptedResponse([.send(ScriptedResponse.head(status, fields + [("Content-Length", "\(count)")]) + bytes)])
  }

  /// A server that sends 101,000 bytes first, then `rest` to each request for a range, and `whole` to others.
  func serverWithKeptPart(
    in folder: Folder, fields: [(String, String)] = tag, rest: ScriptedResponse, whole: ScriptedResponse? = nil
  ) async throws -> LoopbackServer {
    let server = try LoopbackServer { request in
      if request.index == 0 { return .file(Self.large, for: request, fields, cut: 101_000) }
      return request.value("Range") == nil ? whole ?? .file(Self.large, for: request, fields) : rest
    }
    #expect(await download(server, to: folder.file(), resumes: true, policy: .never).error != nil)
    #expect(folder.partialSize == 101_000)
    return server
  }

  /// What the server sends for the rest, and whether it can be used.
  static let rests: [(name: String, response: ScriptedResponse, isUsed: Bool)] = [
    ("block that begins earlier", block(65_536, 199_999), true), ("exact rest", block(101_000, 199_999), true),
    ("block without Content-Range", response(206, 99_000), false), ("block that ends earlier", block(0, 65_535), false),
    ("block of another version", block(65_536, 199_999, "200000", [("ETag", "\"2\"")]), false),
    ("unsatisfiable block", part("bytes */200000", []), false),
    ("no content", .status(204), false),
  ]

  @Test(arguments: rests) func resumesOrRestartsAPartialFileInTheSameCall(
    _ name: String, _ response: ScriptedResponse, _ isUsed: Bool
  ) async throws {
    let folder = try Folder()
    let server = try await serverWithKeptPart(in: folder, rest: response)
    let done = try await download(server, to: folder.file(), resumes: true).get()
    #expect(try Data(contentsOf: done.value) == Data(Self.large), "\(name)")
    #expect(
      server.requests.dropFirst().map { $0.value("Range") } == ["bytes=101000-"] + (isUsed ? [] : [nil]), "\(name)")
    #expect(folder.names == ["file.bin"])
  }

  @Test func partialFileIsOnlyUsedByADownloadThatResumes() async throws {
    let folder = try Folder()
    let server = try await serverWithKeptPart(in: folder, rest: Self.block(101_000, 199_999))
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.value) == Data(Self.large) && folder.names == ["file.bin"])
    #expect(server.values(of: "Range") == [nil, nil])
  }

  /// Each download from the beginning is cut off, and each response to a Range is wrong.
  @Test func maxRetriesLimitsRestarts() async throws {
    let server = try LoopbackServer { request in
      // Ends a call that the policy does not end.
      if request.index == 50 { return .status(404) }
      if request.value("Range") != nil { return Self.response(206, 99_000) }
      return .file(Self.large, for: request, cut: 101_000)
    }
    let folder = try Folder()
    let policy = RetryPolicy.quick(maxRetries: 3)
    #expect(await download(server, to: folder.file(), policy: policy).error != nil)
    #expect(server.requests.count < 10 && folder.names.isEmpty)
  }

  // MARK: The same version with another length

  static let otherLengths: [(status: Int, count: Int, fields: [(String, String)])] = [
    (200, 99_000, tag), (200, 200_001, tag), (200, 99_000, longAgo),
  ]

  @Test(arguments: otherLengths) func rejectsAResponseShorterThanTheKnownLength(
    _ status: Int, _ count: Int, _ fields: [(String, String)]
  ) async throws {
    let half = Self.response(status, count, fields)
    var folder = try Folder()
    var server = try await serverWithKeptPart(in: folder, fields: fields, rest: half)
    let done = try await download(server, to: folder.file(), resumes: true).get()
    #expect(try Data(contentsOf: done.value) == Data(Self.large) && server.requests.count == 3)
    // The server never sends the whole file.
    folder = try Folder()
    server = try await serverWithKeptPart(in: folder, fields: fields, rest: half, whole: half)
    let result = await download(server, to: folder.file(), resumes: true)
    guard case .invalidResponse? = transferError(result) else { Issue.record("\(result)"); return }
    #expect(server.requests.count == 3 && folder.names.isEmpty)
  }

  /// Without Content-Length, the length of the version is known from before.
  @Test(arguments: [99_000, 200_000]) func chunkedBodyOfAKnownVersionMustHaveItsLength(_ count: Int) async throws {
    let head = ScriptedResponse.head(200, Self.tag + [("Transfer-Encoding", "chunked")])
    let chunk = ScriptedResponse.chunk(Self.large.prefix(count)) + Array("0\r\n\r\n".utf8)
    let chunked = ScriptedResponse([.send(head + chunk)])
    let folder = try Folder()
    let server = try await serverWithKeptPart(in: folder, rest: chunked)
    let result = await download(server, to: folder.file(), resumes: true, policy: .never)
    #expect((result.error == nil) == (count == 200_000), "\(result)")
    #expect(folder.names.contains("file.bin") == (count == 200_000))
  }
}
