import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Text is decoded in the charset of its Content-Type.
@Suite struct TextCharsetTests {
  static func text(_ bytes: [UInt8], _ contentType: String) async throws(NetworkError) -> String {
    let step = NetworkScript.Step.response(200, headers: ["Content-Type": contentType], body: Data(bytes))
    let client = NetworkClient(baseURL: URL(string: "https://a.example"), on: NetworkScript([step]))
    return try await client.load(.get("/", as: String.self))
  }

  static let charsets: [(names: String, bytes: [UInt8], text: String)] = [
    ("utf-8 UTF8 US-ASCII", [0xD0, 0x9F], "П"), ("us-ascii ascii ASCII", [0x41], "A"),
    ("utf-8", [0xEF, 0xBB, 0xBF, 0x41], "A"),
    ("utf-16", [0xFE, 0xFF, 0x04, 0x1F], "П"), ("utf-16", [0xFF, 0xFE, 0x1F, 0x04], "П"),
    ("utf-16", [0x04, 0x1F], "П"), ("utf-16be", [0x04, 0x1F], "П"), ("utf-16le", [0x1F, 0x04], "П"),
    ("utf-16be", [0xFE, 0xFF, 0x04, 0x1F], "П"), ("utf-16le", [0xFF, 0xFE, 0x1F, 0x04], "П"),
    ("utf-16le", [0x3D, 0xD8, 0x15, 0xDC], "🐕"),
    ("utf-32", [0xFF, 0xFE, 0, 0, 0x1F, 4, 0, 0], "П"), ("utf-32be", [0, 0, 4, 0x1F], "П"),
    ("utf-32le", [0x1F, 4, 0, 0], "П"),
    ("iso-8859-1 latin1 ISO_8859-1", [0xFC], "ü"), ("iso-8859-2 latin2", [0xB1], "ą"),
    ("windows-1250", [0xB9], "ą"), ("windows-1251", [0xCF, 0xF0, 0xE8], "При"),
    ("windows-1252 CP1252", [0x80], "€"), ("windows-1253", [0xE1], "α"), ("windows-1254", [0xFD], "ı"),
    ("Shift_JIS sjis", [0x82, 0xA0], "あ"),
    ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x24, 0x22, 0x1B, 0x28, 0x42], "あ"),
  ]

  @Test(arguments: charsets) func readsEachCharset(_ names: String, _ bytes: [UInt8], _ text: String) async throws {
    for name in names.split(separator: " ") {
      #expect(try await Self.text(bytes, "text/plain; charset=\(name)") == text, "\(name)")
    }
  }

  static let onApplePlatforms: [(charset: String, bytes: [UInt8], text: String, errorOnLinux: String)] = [
    ("koi8-r", [0xF0], "П", "the charset koi8-r is unknown"), ("gbk", [0xC4, 0xE3], "你", "the charset gbk is unknown"),
    ("iso-8859-15", [0xA4], "€", "the charset iso-8859-15 is unknown"),
    ("big5", [0xA7, 0x41], "你", "the charset big5 is unknown"),
    ("euc-jp", [0xA4, 0xA2], "あ", "it is not text in euc-jp"),
    // Foundation decodes other characters on Linux.
    ("macintosh", [0x8A, 0xA5], "ä•", "the charset macintosh is unknown"),
  ]

  /// Foundation knows fewer charsets on Linux.
  @Test(arguments: onApplePlatforms) func readsACharsetWhereFoundationCan(
    _ charset: String, _ bytes: [UInt8], _ expected: String, _ reason: String
  ) async {
    do throws(NetworkError) {
      let text = try await Self.text(bytes, "text/plain; charset=\(charset)")
      #expect(text == expected)
    } catch {
      #if canImport(FoundationNetworking)
        #expect("\(error)".hasPrefix("the body: is not valid (\(reason)): 200 "), "\(error)")
      #else
        Issue.record("\(error)")
      #endif
    }
  }

  static let contentTypes = [
    "text/plain; charset='windows-1251'", "text/plain; charset=\"windows-1251\"",
    "text/plain; charset = windows-1251",
    #"text/plain; title="x; charset=utf-8"; charset=windows-1251"#, "text/plain; xcharset=utf-8; charset=windows-1251",
    "text/plain; charset=windows-1251; charset=utf-8", #"text/plain; charset="windows\-1251""#,
    "text/plain; charset=utf-8, text/plain; charset=windows-1251",
  ]

  @Test(arguments: contentTypes) func readsTheCharsetInEachNotationOfTheContentType(_ contentType: String) async throws
  {
    #expect(try await Self.text([0xCF, 0xF0, 0xE8], contentType) == "При")
  }

  static let withoutCharset = [
    "text/plain", "text/plain; charset=",
    #"text/plain; title="x; charset=windows-1251""#, "; ;",
  ]

  @Test(arguments: withoutCharset) func readsTextWithoutACharsetAsUTF8(_ contentType: String) async throws {
    #expect(try await Self.text([0xC3, 0xBC], contentType) == "ü")
  }

  static let unreadable: [(charset: String, bytes: [UInt8], reason: String)] = [
    ("X-Unknown", [0xC1], "the charset x-unknown is unknown"),
    ("\"a b\"", [0x41], "the charset is unknown"),
    ("utf-8", [0xFF], "it is not text in utf-8"), ("us-ascii", [0xFF], "it is not text in us-ascii"),
    // Incomplete characters
    ("utf-16", [4, 0x1F, 4], "it is not text in utf-16"),
    ("utf-32le", [0x1F, 4, 0, 0, 1], "it is not text in utf-32le"),
  ]

  @Test(arguments: unreadable) func theErrorNamesTheCharset(_ charset: String, _ bytes: [UInt8], _ reason: String) async
  {
    let error = await #expect(throws: NetworkError.self) {
      try await Self.text(bytes, "text/plain; charset=\(charset)")
    }
    guard case .undecodable(is DecodingError, _, let data)? = error else {
      Issue.record("\(String(describing: error))"); return
    }
    #expect(data == Data(bytes))
    #expect(
      error?.description.hasPrefix("the body: is not valid (\(reason)): 200 ") == true, "\(String(describing: error))")
  }
}
