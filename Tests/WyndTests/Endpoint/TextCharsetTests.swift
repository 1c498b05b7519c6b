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
    ("utf-8 UTF8 utf8mb4", [0xD0, 0x9F], "П"), ("us-ascii ascii", [0x41], "A"),
    ("utf-8", [0xEF, 0xBB, 0xBF, 0x41], "A"),
    ("utf-16", [0xFE, 0xFF, 0x04, 0x1F], "П"), ("utf-16", [0xFF, 0xFE, 0x1F, 0x04], "П"),
    ("utf-16", [0x04, 0x1F], "П"), ("utf-16be", [0x04, 0x1F], "П"), ("utf-16le", [0x1F, 0x04], "П"),
    ("utf-16be", [0xFE, 0xFF, 0x04, 0x1F], "П"), ("utf-16le", [0xFF, 0xFE, 0x1F, 0x04], "П"),
    ("utf-16le", [0x3D, 0xD8, 0x15, 0xDC], "🐕"),
    ("utf-32", [0xFF, 0xFE, 0, 0, 0x1F, 4, 0, 0], "П"), ("utf-32be", [0, 0, 4, 0x1F], "П"),
    ("utf-32le", [0x1F, 4, 0, 0], "П"),
    ("iso-8859-1 latin1 ISO_8859-1", [0xFC], "ü"), ("iso-8859-2 latin2", [0xB1], "ą"), ("iso-8859-3", [0xBF], "ż"),
    ("iso-8859-4", [0xBF], "ŋ"), ("iso-8859-5", [0xBF], "П"), ("iso-8859-6", [0xE1], "ف"),
    ("iso-8859-7", [0xE1], "α"), ("iso-8859-8", [0xE0], "א"), ("iso-8859-9 latin5", [0xFD], "ı"),
    ("iso-8859-10", [0xBF], "ŋ"), ("iso-8859-11 tis-620", [0xE1], "แ"), ("iso-8859-13", [0xE1], "į"),
    ("iso-8859-14", [0xBF], "ṡ"), ("iso-8859-15", [0xA4], "€"), ("iso-8859-16", [0xBF], "ż"),
    ("windows-1250 cp1250", [0xB9], "ą"), ("windows-1251 CP1251", [0xCF, 0xF0, 0xE8], "При"),
    ("windows-1252", [0x80], "€"), ("windows-1253", [0xE1], "α"), ("windows-1254", [0xFD], "ı"),
    ("windows-1255", [0xE0], "א"), ("windows-1256", [0xC7], "ا"), ("windows-1257", [0xE0], "ą"),
    ("windows-1258", [0xE0], "à"), ("windows-874", [0xA1], "ก"), ("ibm437", [0x80], "Ç"), ("ibm850", [0x80], "Ç"),
    ("ibm852", [0xA5], "ą"), ("ibm866 cp866", [0x8F], "П"), ("koi8-r KOI8-R", [0xF0], "П"), ("koi8-u", [0xA4], "є"),
    ("macintosh", [0x8A, 0xA5], "ä•"), ("x-mac-cyrillic", [0x8F], "П"),
    ("Shift_JIS x-sjis windows-31j", [0x82, 0xA0], "あ"),
    ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x24, 0x22, 0x1B, 0x28, 0x42], "あ"),
    ("gb18030 gbk gb2312", [0xC4, 0xE3], "你"), ("gbk gb18030", [0x81, 0x40], "丂"),
    ("gb18030", [0x94, 0x39, 0xDA, 0x33], "💩"), ("big5", [0xA7, 0x41], "你"), ("big5-hkscs", [0xA7, 0x41], "你"),
    ("euc-kr ks_c_5601-1987", [0xB0, 0xA1], "가"),
  ]

  @Test(arguments: charsets.indices) func readsEachCharset(_ row: Int) async throws {
    let (names, bytes, text) = Self.charsets[row]
    for name in names.split(separator: " ") {
      #expect(try await Self.text(bytes, "text/plain; charset=\(name)") == text, "\(name)")
    }
  }

  /// Foundation cannot decode it on Linux.
  @Test func japaneseEUCIsReadWhereFoundationCan() async {
    do throws(NetworkError) {
      let text = try await Self.text([0xA4, 0xA2], "text/plain; charset=EUC-JP")
      #expect(text == "あ")
    } catch {
      #if canImport(FoundationNetworking)
        #expect("\(error)".hasPrefix("the body: is not valid (it is not text in euc-jp): 200 "), "\(error)")
      #else
        Issue.record("\(error)")
      #endif
    }
  }

  static let contentTypes = [
    "text/plain; charset='windows-1251'", "text/plain; charset=\"windows-1251\"", "TEXT/PLAIN; CHARSET=WINDOWS-1251",
    "text/plain; charset = windows-1251", "text/plain;charset\t=\t\"Windows-1251\" ; x=y",
    "text/plain; a=b; charset=cp1251",
    #"text/plain; title="x; charset=utf-8"; charset=windows-1251"#, "text/plain; xcharset=utf-8; charset=windows-1251",
    #"text/plain; title="a\"; charset=utf-8; \\"; charset=windows-1251"#, "text/plain;; charset=windows-1251;",
    "text/plain; charset=windows-1251; charset=utf-8", #"text/plain; charset="windows\-1251""#,
    // Of several, the last valid one counts.
    "text/plain; charset=windows-1251, text/plain; charset=windows-1251",
    "text/plain; charset=utf-8, text/plain; charset=windows-1251", "text/plain; charset=windows-1251, none; charset=x",
    #"text/plain; charset="windows-1251"; a=", text/plain; charset=utf-8""#,
    "text/plain; title=charset; charset=windows-1251", "text/plain; title=\"charset=utf-8\"; charset=windows-1251",
  ]

  @Test(arguments: contentTypes) func readsTheCharsetInEachNotationOfTheContentType(_ contentType: String) async throws
  {
    #expect(try await Self.text([0xCF, 0xF0, 0xE8], contentType) == "При")
  }

  static let withoutCharset = [
    "text/plain", "text/plain; charset=", "text/plain; charset=\"\"", "text/plain; charset", "charset",
    #"text/plain; title="x; charset=windows-1251""#, "text/plain; title=\"charset=windows-1251",
    "text/plain; a=charset=koi8-r",
    "", "; ;",
  ]

  @Test(arguments: withoutCharset) func readsTextWithoutACharsetAsUTF8(_ contentType: String) async throws {
    #expect(try await Self.text([0xC3, 0xBC], contentType) == "ü")
  }

  static let unreadable: [(charset: String, bytes: [UInt8], reason: String)] = [
    ("X-Unknown", [0xC1], "the charset x-unknown is unknown"), ("utf-7", [0x41], "the charset utf-7 is unknown"),
    ("\"a b\"", [0x41], "the charset is unknown"),
    (String(repeating: "x", count: 41), [0x41], "the charset is unknown"),
    ("utf-8", [0xFF], "it is not text in utf-8"), ("us-ascii", [0xFF], "it is not text in us-ascii"),
    // Incomplete characters
    ("utf-16", [4, 0x1F, 4], "it is not text in utf-16"), ("utf-16be", [4], "it is not text in utf-16be"),
    ("utf-32", [0, 0, 4], "it is not text in utf-32"), ("utf-32le", [0x1F, 4, 0, 0, 1], "it is not text in utf-32le"),
    ("shift_jis", [0x82], "it is not text in shift_jis"),
  ]

  @Test(arguments: unreadable.indices) func theErrorNamesTheCharset(_ row: Int) async {
    let (charset, bytes, reason) = Self.unreadable[row]
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
