import Foundation
import WyndLoopbackServer

/// A temporary folder that is removed with its last reference.
final class Folder: Sendable {
  let url: URL
  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "folder-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(at: url) }
  func file(_ name: String = "file.bin") -> URL { url.appending(path: name) }
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }

  /// Hidden files: the partial file of a download and its state.
  var hidden: [URL] { names.filter { $0.hasPrefix(".") }.map { url.appending(path: $0) } }
  /// The bytes of an unfinished download, and how many there are.
  var partial: URL? { hidden.first { $0.pathExtension == "wynd-part" } }
  var partialSize: Int? {
    // A new URL, because a URL caches its resource values.
    partial.flatMap { try? URL(fileURLWithPath: $0.path).resourceValues(forKeys: [.fileSizeKey]).fileSize }
  }
  func text(_ name: String = "file.bin") -> String? { try? String(contentsOf: file(name), encoding: .utf8) }
}

/// Bytes of a repeated pattern, whose prime length shows a wrong offset.
func someBytes(_ count: Int, seed: Int = 1) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count)
  while bytes.count < count { bytes += pattern.prefix(count - bytes.count) }
  if seed != 1 { bytes = bytes.map { $0 &+ UInt8(truncatingIfNeeded: seed &* 101) } }
  return bytes
}
private let pattern = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ ($0 >> 8) &* 7) }

extension ScriptedResponse {
  /// A chunk of a body with `Transfer-Encoding: chunked`.
  static func chunk(_ bytes: some Collection<UInt8>) -> [UInt8] {
    Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
  }

  /// A body that is sent in chunks of this size.
  static func pieces(
    _ bytes: [UInt8], of size: Int, _ headers: [(String, String)] = []
  ) -> ScriptedResponse {
    var steps = [Step.send(head(200, headers + [("Content-Length", "\(bytes.count)")]))]
    for start in stride(from: 0, to: bytes.count, by: max(1, size)) {
      steps += [.pause(milliseconds: 1), .send(Array(bytes[start..<min(start + max(1, size), bytes.count)]))]
    }
    return ScriptedResponse(steps)
  }
}
