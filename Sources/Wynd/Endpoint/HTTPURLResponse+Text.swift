import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension HTTPURLResponse {
  /// The body as text, in the charset of its Content-Type. The default is UTF-8.
  ///
  /// - Throws: A `DecodingError` whose ``NetworkUnreadableText`` names the charset.
  func text(of data: Data) throws -> String {
    let field = networkValue(of: "Content-Type") ?? ""
    let name = NetworkMediaType.parameter("charset", of: field)?.lowercased() ?? "utf-8"
    guard let charset = NetworkCharset.named[name] else {
      throw NetworkUnreadableText.error("the charset \(name) is unknown", name)
    }
    // Foundation decodes incomplete UTF-16 and UTF-32 as empty text.
    let isComplete = data.count.isMultiple(of: charset.bytesPerUnit)
    guard isComplete, let text = String(data: data, encoding: charset.encoding) else {
      throw NetworkUnreadableText.error("it is not text in \(name)", name)
    }
    // Foundation keeps the byte order mark where the charset defines the order.
    return text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
  }

  /// Why the body is not JSON, for a log; nil if Foundation does not say it.
  func reasonNotJSON(_ data: Data) -> NetworkUnreadableText? {
    do {
      _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
      return nil
    } catch {
      let text = (error as NSError).userInfo["NSDebugDescription"] as? String ?? ""
      // Foundation also says so of a literal that is misspelled, such as `{"a": tru}`.
      let isClosed = data.last { !" \t\r\n".utf8.contains($0) }.map("}]".utf8.contains) ?? false
      if text.contains("end of file") { return isClosed ? nil : NetworkUnreadableText(description: "it ends in the middle") }
      let type = (networkValue(of: "Content-Type") ?? "").prefix { $0 != ";" }
        .trimmingCharacters(in: .whitespaces).lowercased()
      let parts = type.split(separator: "/").map(String.init)
      // The server chooses the type.
      let isPrintable = type.utf8.count <= 60 && parts.count == 2 && parts.allSatisfy(NetworkRequestValidation.isToken)
      if isPrintable, !type.contains("json") {
        return NetworkUnreadableText(description: "it is not JSON, but \(type)")
      }
      // Such as "around character 7", or "around line 1, column 7" on Apple's platforms.
      guard let place = text.range(of: "around (character [0-9]+|line [0-9]+, column [0-9]+)", options: .regularExpression)
      else { return nil }
      return NetworkUnreadableText(description: "not valid JSON \(text[place])")
    }
  }
}

/// Why a body is not text, or not JSON, for a log.
nonisolated struct NetworkUnreadableText: NetworkLoggableError {
  let description: String

  static func error(_ reason: String, _ charset: String) -> DecodingError {
    // The server chooses the name of the charset.
    let isPrintable = charset.utf8.count <= 40 && NetworkRequestValidation.isToken(charset)
    let text = isPrintable ? reason : "the charset is unknown"
    return .dataCorrupted(.init(codingPath: [], debugDescription: reason, underlyingError: Self(description: text)))
  }
}

nonisolated enum NetworkMediaType {
  /// The value of a parameter (RFC 9110 §8.3.1) without quotes; nil if there is none, or if it is empty. Spaces around
  /// `=` and single quotes are not in the RFC, but servers send them.
  static func parameter(_ name: String, of field: String) -> String? {
    for part in NetworkQuotedString.split(field, at: ";") {
      let halves = part.split(separator: "=", maxSplits: 1)
      guard halves.count == 2, trimmed(halves[0]).lowercased() == name else { continue }
      // Each character of a quoted string may follow a backslash (RFC 9110 §5.6.4). No charset contains a backslash.
      let value = trimmed(halves[1]).replacingOccurrences(of: "\\", with: "")
      return value.isEmpty ? nil : value
    }
    return nil
  }

  private static func trimmed(_ text: Substring.UnicodeScalarView) -> String {
    String(text).trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'"))
  }
}

/// An encoding of text that Foundation can decode.
nonisolated struct NetworkCharset {
  let encoding: String.Encoding
  let bytesPerUnit: Int

  /// The charsets by their names and usual aliases in the IANA registry and the WHATWG Encoding Standard, in lowercase.
  static let named: [String: NetworkCharset] = {
    var named: [String: NetworkCharset] = [:]
    for (encoding, names, bytesPerUnit) in table {
      for name in names.split(separator: " ") {
        named[String(name)] = NetworkCharset(encoding: encoding, bytesPerUnit: bytesPerUnit)
      }
    }
    return named
  }()

  private static let table: [(String.Encoding, String, Int)] = [
    (.utf8, "utf-8 utf8 utf8mb4 unicode-1-1-utf-8 us-ascii ascii ansi_x3.4-1968 iso646-us", 1),
    (.utf16, "utf-16 utf16 unicode iso-10646-ucs-2", 2),
    (.utf16BigEndian, "utf-16be utf16be", 2),
    (.utf16LittleEndian, "utf-16le utf16le", 2),
    (.utf32, "utf-32 utf32 iso-10646-ucs-4", 4),
    (.utf32BigEndian, "utf-32be utf32be", 4),
    (.utf32LittleEndian, "utf-32le utf32le", 4),
    (.isoLatin1, "iso-8859-1 iso8859-1 iso_8859-1 latin1 l1 cp819", 1),
    (.isoLatin2, "iso-8859-2 iso8859-2 iso_8859-2 latin2 l2", 1),
    (coreFoundation(0x0203), "iso-8859-3 iso8859-3 iso_8859-3 latin3 l3", 1),
    (coreFoundation(0x0204), "iso-8859-4 iso8859-4 iso_8859-4 latin4 l4", 1),
    (coreFoundation(0x0205), "iso-8859-5 iso8859-5 iso_8859-5 cyrillic", 1),
    (coreFoundation(0x0206), "iso-8859-6 iso8859-6 iso_8859-6 arabic", 1),
    (coreFoundation(0x0207), "iso-8859-7 iso8859-7 iso_8859-7 greek", 1),
    (coreFoundation(0x0208), "iso-8859-8 iso8859-8 iso_8859-8 iso-8859-8-i hebrew", 1),
    (coreFoundation(0x0209), "iso-8859-9 iso8859-9 iso_8859-9 latin5 l5", 1),
    (coreFoundation(0x020A), "iso-8859-10 iso8859-10 iso_8859-10 latin6 l6", 1),
    (coreFoundation(0x020B), "iso-8859-11 iso8859-11 iso_8859-11 tis-620", 1),
    (coreFoundation(0x020D), "iso-8859-13 iso8859-13 iso_8859-13 latin7", 1),
    (coreFoundation(0x020E), "iso-8859-14 iso8859-14 iso_8859-14 latin8", 1),
    (coreFoundation(0x020F), "iso-8859-15 iso8859-15 iso_8859-15 latin9 latin-9", 1),
    (coreFoundation(0x0210), "iso-8859-16 iso8859-16 iso_8859-16 latin10", 1),
    (.windowsCP1250, "windows-1250 cp1250 x-cp1250", 1),
    (.windowsCP1251, "windows-1251 cp1251 x-cp1251 win-1251", 1),
    (.windowsCP1252, "windows-1252 cp1252 x-cp1252", 1),
    (.windowsCP1253, "windows-1253 cp1253 x-cp1253", 1),
    (.windowsCP1254, "windows-1254 cp1254 x-cp1254", 1),
    (coreFoundation(0x0505), "windows-1255 cp1255 x-cp1255", 1),
    (coreFoundation(0x0506), "windows-1256 cp1256 x-cp1256", 1),
    (coreFoundation(0x0507), "windows-1257 cp1257 x-cp1257", 1),
    (coreFoundation(0x0508), "windows-1258 cp1258 x-cp1258", 1),
    (coreFoundation(0x041D), "windows-874 cp874 dos-874", 1),
    (coreFoundation(0x0400), "ibm437 cp437", 1),
    (coreFoundation(0x0410), "ibm850 cp850", 1),
    (coreFoundation(0x0412), "ibm852 cp852", 1),
    (coreFoundation(0x041B), "ibm866 cp866", 1),
    (coreFoundation(0x0A02), "koi8-r koi8 koi", 1),
    (coreFoundation(0x0A08), "koi8-u koi8-ru", 1),
    (macintosh, "macintosh mac x-mac-roman", 1),
    (coreFoundation(0x0007), "x-mac-cyrillic x-mac-ukrainian", 1),
    (.shiftJIS, "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j cp932", 1),
    (.japaneseEUC, "euc-jp eucjp x-euc-jp", 1),
    (.iso2022JP, "iso-2022-jp", 1),
    // GB 18030 contains GBK, which contains GB 2312.
    (coreFoundation(0x0632), "gb18030 gbk gb2312 gb_2312-80 cp936 ms936 windows-936 x-gbk euc-cn", 1),
    (coreFoundation(0x0A03), "big5 big-5 cn-big5 x-x-big5", 1),
    (coreFoundation(0x0A06), "big5-hkscs", 1),
    // Code page 949 contains EUC-KR.
    (coreFoundation(0x0422), "euc-kr euckr cp949 windows-949 ks_c_5601-1987 ksc5601 uhc", 1),
  ]

  #if canImport(ObjectiveC)
    private static let macintosh = String.Encoding.macOSRoman
  #else
    // `.macOSRoman` decodes other characters there.
    private static let macintosh = coreFoundation(0)
  #endif

  /// The encoding with this number in `CFStringEncodings` of Core Foundation.
  private static func coreFoundation(_ number: UInt) -> String.Encoding {
    String.Encoding(rawValue: 0x8000_0000 | number)
  }
}
