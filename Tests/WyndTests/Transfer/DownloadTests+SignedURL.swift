import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A file whose URL changes with each call.
extension DownloadTests {
  /// The second response, and whether it continues the first one.
  struct Later: Sendable {
    var name: String? = "model-7"
    var path = "/file?signature=2"
    var fields = [("ETag", "\"1\"")]
    var continues = false
  }
  /// As long as `old`.
  static let other = someBytes(40_000, seed: 3)
  static let modified = [("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT"), ("Date", "Wed, 01 Oct 2025 00:00:00 GMT")]

  /// The first response is the start of `old`, with this field; the second one has other bytes if it starts over.
  private func resume(_ first: [(String, String)], _ later: Later) async throws -> [String?] {
    let server = try LoopbackServer { request in
      if request.index == 0 { return .file(Self.old, for: request, first, cut: 20_000) }
      return .file(later.continues ? Self.old : Self.other, for: request, later.fields)
    }
    let folder = try Folder()
    await #expect(throws: NetworkError.self) {
      try await session.performNetworkDownload(
        server.url("/file?signature=1"), to: folder.file(), resumesAs: "model-7", policy: .never)
    }
    let hasTag = first.contains { $0.1.hasPrefix("\"") }
    #expect(NetworkPartialDownload.exists(for: folder.file()) == hasTag && folder.names.isEmpty != hasTag)
    try await session.performNetworkDownload(
      server.url(later.path), to: folder.file(), resumes: later.name == nil, resumesAs: later.name, policy: .quick())
    #expect(try Data(contentsOf: folder.file()) == Data(later.continues ? Self.old : Self.other))
    #expect(folder.names == ["file.bin"])
    return server.values(of: "If-Range")
  }

  @Test func resumesUnderANewURL() async throws {
    let tag = [("ETag", "\"1\"")]
    #expect(try await resume(tag, Later(continues: true)) == [nil, "\"1\""])
    #expect(try await resume(tag + Self.modified, Later(path: "/other", continues: true)) == [nil, "\"1\""])
  }

  @Test func startsOverUnderANewURLIfTheFileMayBeAnotherOne() async throws {
    let tag = [("ETag", "\"1\"")]
    // The server has another version, which it says by a 200.
    #expect(try await resume(tag, Later(fields: [("ETag", "\"2\"")])) == [nil, "\"1\""])
    #expect(try await resume(tag, Later(name: "model-8")) == [nil, nil])
    #expect(try await resume(tag, Later(name: nil)) == [nil, nil])
    // A file of another URL may have the same date, and a weak tag does not compare bytes.
    #expect(try await resume(Self.modified, Later(fields: Self.modified)) == [nil, nil])
    #expect(try await resume([("ETag", "W/\"1\"")], Later(fields: [("ETag", "W/\"1\"")])) == [nil, nil])
  }

  /// A server that ignores If-Range sends a part of whatever the URL is now.
  @Test func doesNotUseAPartWithoutTheSameTagUnderANewURL() async throws {
    for fields in [[("ETag", "\"2\"")], [("ETag", "W/\"1\"")], []] {
      let server = try LoopbackServer { request in
        switch request.index {
        case 0: .file(Self.old, for: request, cut: 20_000)
        case 1:
          .init([
            .send(
              ScriptedResponse.head(
                206,
                fields + [
                  ("Content-Range", "bytes 20000-\(Self.other.count - 1)/\(Self.other.count)"),
                  ("Content-Length", "\(Self.other.count - 20_000)"),
                ]) + Self.other[20_000...])
          ])
        default: .file(Self.other, for: request)
        }
      }
      let folder = try Folder()
      for number in 0..<2 {
        _ = try? await session.performNetworkDownload(
          server.url("/file?signature=\(number)"), to: folder.file(), resumesAs: "model-7",
          policy: number == 0 ? .never : .quick())
      }
      #expect(try Data(contentsOf: folder.file()) == Data(Self.other))
      #expect(server.values(of: "Range") == [nil, "bytes=20000-", nil])
    }
  }

  @Test func nameIsNotTakenForAURL() async throws {
    let server = try LoopbackServer { request in
      .file(request.index == 0 ? Self.old : Self.other, for: request, cut: request.index == 0 ? 20_000 : nil)
    }
    let folder = try Folder()
    let url = server.url("/file")
    let names: [String?] = [url.absoluteString, nil]
    for name in names {
      _ = try? await session.performNetworkDownload(
        url, to: folder.file(), resumes: true, resumesAs: name, policy: .never)
    }
    #expect(server.values(of: "Range") == [nil, nil])
    #expect(try Data(contentsOf: folder.file()) == Data(Self.other))
  }
}
