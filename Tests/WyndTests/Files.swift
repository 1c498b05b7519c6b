import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A folder that goes with its test.
final class Folder: Sendable {
  let url: URL
  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "folder-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(at: url) }
  func file(_ name: String = "file.bin") -> URL { url.appending(path: name) }
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }
}

/// Bytes that tell their place: a pattern whose length divides nothing, made once.
func someBytes(_ count: Int, seed: Int = 1) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count)
  while bytes.count < count { bytes += pattern.prefix(count - bytes.count) }
  if seed != 1 { bytes = bytes.map { $0 &+ UInt8(truncatingIfNeeded: seed &* 101) } }
  return bytes
}
private let pattern = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ ($0 >> 8) &* 7) }
