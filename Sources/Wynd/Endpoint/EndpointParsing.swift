public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Bytes → values. `JSONDecoder` and `PropertyListDecoder` are such decoders; any format fits.
nonisolated public protocol EndpointDecoder {
  /// What an endpoint with this decoder accepts, `application/json`.
  var mediaType: String { get }
  /// Makes a value of a body.
  func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

/// Values → bytes. `JSONEncoder` and `PropertyListEncoder` are such encoders.
nonisolated public protocol EndpointEncoder {
  /// The Content-Type of what it makes.
  var mediaType: String { get }
  /// Makes a body of a value.
  func encode<Value: Encodable>(_ value: Value) throws -> Data
}

/// What endpoints use that name no coder of their own, while a client works for them.
nonisolated enum EndpointCoding {
  private static let encoders = TaskLocal<(any EndpointEncoder & Sendable)?>(wrappedValue: nil)
  private static let decoders = TaskLocal<(any EndpointDecoder & Sendable)?>(wrappedValue: nil)
  static var encoder: (any EndpointEncoder)? { encoders.get() }
  static var decoder: (any EndpointDecoder)? { decoders.get() }

  static func with<Value>(
    _ encoder: (any EndpointEncoder & Sendable)?, _ decoder: (any EndpointDecoder & Sendable)?,
    _ work: () throws(NetworkError) -> Value
  ) throws(NetworkError) -> Value {
    try encoders.withValue(encoder) {
      decoders.withValue(decoder) { Result(catching: work) }
    }.get()
  }
}

nonisolated extension JSONDecoder: EndpointDecoder {
  /// `application/json`
  public var mediaType: String { "application/json" }
}
nonisolated extension JSONEncoder: EndpointEncoder {
  /// `application/json`
  public var mediaType: String { "application/json" }
}
nonisolated extension PropertyListDecoder: EndpointDecoder {
  /// `application/x-plist`
  public var mediaType: String { "application/x-plist" }
}
nonisolated extension PropertyListEncoder: EndpointEncoder {
  /// `application/x-plist`
  public var mediaType: String { "application/x-plist" }
}

nonisolated extension Endpoint where Response: Decodable {
  /// `Data` is the body, `String` its text, anything else is decoded. An empty body is nil to an `Optional`, and else
  /// ``NetworkError/noResponseData(_:)``.
  public func parse(data: Data, response: HTTPURLResponse) throws -> Response {
    if data.isEmpty, let none = (Response.self as? any ExpressibleByNilLiteral.Type)?.init(nilLiteral: ()) as? Response
    {
      return none
    }
    switch Response.self {
    case is Data.Type, is Data?.Type: if let data = data as? Response { return data }
    case is String.Type, is String?.Type: if let text = try response.text(of: data) as? Response { return text }
    default: if data.isEmpty { throw NetworkError.noResponseData(response) }
    }
    return try decoder.decode(Response.self, from: data)
  }
}
nonisolated extension Endpoint where Response == Void {
  /// Whatever the body is, it does not matter.
  public func parse(data: Data, response: HTTPURLResponse) {}
}
nonisolated extension Endpoint where Response == HTTPURLResponse {
  /// The head of the answer.
  public func parse(data: Data, response: HTTPURLResponse) -> HTTPURLResponse { response }
}

nonisolated extension HTTPURLResponse {
  /// The text in the charset that Content-Type names, one of the five here; UTF-8 where it names none.
  fileprivate func text(of data: Data) throws -> String {
    let charset = value(forHTTPHeaderField: "Content-Type")?.lowercased().components(separatedBy: "charset=")
      .dropFirst()
      .first?.prefix { $0 != ";" && $0 != " " }.replacingOccurrences(of: "\"", with: "")
    let encoding: String.Encoding? =
      switch charset {
      case nil, "utf-8", "utf8", "us-ascii": .utf8
      case "iso-8859-1", "latin1": .isoLatin1
      case "windows-1252": .windowsCP1252
      case "utf-16": .utf16
      case "shift_jis": .shiftJIS
      // Most others have ASCII in common, which needs no knowledge of them.
      default: data.allSatisfy { 1..<128 ~= $0 } ? .utf8 : nil
      }
    if let encoding, let text = String(data: data, encoding: encoding) { return text }
    throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "not text in \(charset ?? "utf-8")"))
  }
}
