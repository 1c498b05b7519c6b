public import Foundation

/// The name of a partial file that is kept when a download fails, so that a later call, in a later process too, goes on
/// from there. Make one, keep it where it survives, and pass it to each call for that file.
nonisolated public struct ResumeToken: Sendable, Hashable, Codable {
  /// What tells it from others in the same folder.
  public let name: String

  /// Makes a token; without a name, one that nobody else has.
  public init(_ name: String? = nil) {
    var random = SystemRandomNumberGenerator()
    self.name = name ?? String(random.next(), radix: 36) + String(random.next(), radix: 36)
  }

  /// Removes what is kept under this name in a folder, for a download that nobody wants any more. While one is under way,
  /// nothing is removed.
  public func discard(in folder: URL) {
    guard isKept(in: folder), let lock = try? FileLock(partial(in: folder)) else { return }
    for leftover in [state(in: folder), partial(in: folder)] { try? FileManager.default.removeItem(at: leftover) }
    lock.release()
  }

  /// Is anything kept under this name in a folder?
  public func isKept(in folder: URL) -> Bool { FileManager.default.fileExists(atPath: partial(in: folder).path) }

  func partial(in folder: URL) -> URL { folder.appendingPathComponent(".wynd-\(fileName).part") }
  func state(in folder: URL) -> URL { folder.appendingPathComponent(".wynd-\(fileName).json") }

  /// Of letters, digits and `-`, at most 120: whatever the name is, it stays in its folder.
  var fileName: String {
    let isPlain = name.utf8.count <= 120 && name.utf8.allSatisfy(Self.isPlain)
    if isPlain, !name.isEmpty { return name }
    // Different names stay different.
    var hash = UInt64(14_695_981_039_346_656_037)
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
    return String(decoding: name.utf8.filter(Self.isPlain).prefix(80), as: UTF8.self) + "-" + String(hash, radix: 36)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 65...90, 97...122, 45: true
    default: false
    }
  }
}
