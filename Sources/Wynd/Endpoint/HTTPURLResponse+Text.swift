import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension HTTPURLResponse {
  /// The body as text, in the charset of its Content-Type. The default is UTF-8.
  ///
  /// - Throws: A `DecodingError` whose ``NetworkUnreadableText`` names the charset.
  func text(of data: Data) throws -> String {
    let parameters = NetworkListField.elements(of: networkContentType, separatedBy: ";")
    let charset = parameters.first { $0.name == "charset" }?.value ?? ""
    // Some servers send single quotes, which are not in the RFC.
    let unquoted = charset.lowercased().trimmingCharacters(in: CharacterSet(charactersIn: "\"'"))
    let name = unquoted.isEmpty ? "utf-8" : unquoted
    guard let encoding = String.Encoding.networkCharset(name) else {
      throw NetworkUnreadableText.error("the charset \(name) is unknown", name)
    }
    // Foundation decodes incomplete UTF-16 and UTF-32 as empty text.
    let bytesPerUnit = ["utf-16": 2, "utf-32": 4][name.prefix(6)] ?? 1
    guard data.count.isMultiple(of: bytesPerUnit), let text = String(data: data, encoding: encoding) else {
      throw NetworkUnreadableText.error("it is not text in \(name)", name)
    }
    // Foundation keeps the byte order mark where the charset defines the order.
    return text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
  }

  /// Why the body is not JSON, for a log: the page of a proxy, for example. Nil if its type is JSON, or unknown.
  var reasonNotJSON: NetworkUnreadableText? {
    let type = networkMediaType
    // The server chooses the type.
    let isPrintable = type.utf8.count <= 60 && Self.isMediaType(type)
    return isPrintable && !type.contains("json") ? NetworkUnreadableText(description: "its type is \(type)") : nil
  }
}

/// Why a body is not text, or not JSON, for a log.
nonisolated struct NetworkUnreadableText: NetworkLoggableError, CustomStringConvertible {
  let description: String

  static func error(_ reason: String, _ charset: String) -> DecodingError {
    // The server chooses the name of the charset.
    let isPrintable = charset.utf8.count <= 40 && NetworkRequestValidation.isToken(charset)
    let text = isPrintable ? reason : "the charset is unknown"
    return .dataCorrupted(.init(codingPath: [], debugDescription: reason, underlyingError: Self(description: text)))
  }
}

nonisolated extension String.Encoding {
  /// The encoding with this name in the IANA registry, in lowercase; nil if Foundation does not know it.
  static func networkCharset(_ name: String) -> String.Encoding? {
    // On Linux, Foundation lacks these aliases, and before Swift 6.3 all names. ASCII is a part of UTF-8.
    let usual = [
      "utf-8": String.Encoding.utf8, "utf8": .utf8, "us-ascii": .utf8, "ascii": .utf8, "iso-8859-1": .isoLatin1,
      "latin1": .isoLatin1, "windows-1252": .windowsCP1252, "cp1252": .windowsCP1252, "sjis": .shiftJIS,
    ]
    if let encoding = usual[name] { return encoding }
    #if canImport(ObjectiveC)
      let encoding = CFStringConvertIANACharSetNameToEncoding(name as CFString)
      if encoding == kCFStringEncodingInvalidId { return nil }
      return String.Encoding(rawValue: CFStringConvertEncodingToNSStringEncoding(encoding))
    #elseif compiler(>=6.3)
      let encoding = String.Encoding(ianaName: name)
      // Foundation decodes some of its characters wrongly.
      return encoding == .macOSRoman ? nil : encoding
    #else
      return nil
    #endif
  }
}

nonisolated extension DecodingError: NetworkLoggableError {
  /// The place and the types, and no value: "users[3].email: expected String, found null".
  var networkLogText: String {
    switch self {
    case .typeMismatch(let type, let info), .valueNotFound(let type, let info):
      // "Expected to decode Int but found a string instead." The app's own types may write anything here.
      let got = ["string", "number", "bool", "array", "dictionary", "null"].first(where: info.debugDescription.contains)
      return "\(Self.place(info.codingPath)): expected \(type), found \(got ?? "another type")"
    case .keyNotFound(let key, let info): return "\(Self.place(info.codingPath + [key])): is missing"
    case .dataCorrupted(let info):
      let reason = (info.underlyingError as? any NetworkLoggableError)?.networkLogText ?? Self.fixedReason(info)
      return "\(Self.place(info.codingPath)): is not valid" + (reason.map { " (\($0))" } ?? "")
    @unknown default: return "the body: is not valid"
    }
  }

  private static func place(_ path: [any CodingKey]) -> String { path.networkPath ?? "the body" }

  /// A sentence of Foundation that contains nothing of the body; nil for any other sentence.
  private static func fixedReason(_ info: Context) -> String? {
    let sentences = [
      "Expected date string to be ISO8601-formatted", "Date string does not match format expected by formatter",
      "Invalid URL string", "Encountered Data is not valid Base64", "Attempted to decode UUID from invalid UUID string",
    ]
    return sentences.first { info.debugDescription.hasPrefix($0) }
  }
}
