import Foundation
import Testing

@testable import Wynd

@Suite struct MultipartFileTests {
  @Test func theTemporaryFileIsForTheUserOnly() throws {
    var spool = MultipartSpool(
      parts: [.init(name: "f", file: URL(fileURLWithPath: #filePath)), .init(name: "a", value: "b")], boundary: "B")
    let file = spool.file
    try spool.write { true }
    let attributes = try FileManager.default.attributesOfItem(atPath: spool.file.path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    #expect(try Data(contentsOf: spool.file) == spool.data())
    spool = MultipartSpool(parts: [], boundary: "")
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }
}
