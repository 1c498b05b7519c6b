import Foundation
import Zlib

/// The head of a response.
struct ResponseHead {
  let response: HTTPURLResponse
  let cookies: [String]

  /// Nil: an interim response. `text`: without the empty line.
  init?(_ text: String, _ url: URL) throws {
    var lines = text.split(whereSeparator: \.isNewline).map(String.init)
    let status = lines.isEmpty ? [] : lines.removeFirst().split(separator: " ", maxSplits: 2)
    guard status.count >= 2, status[0].hasPrefix("HTTP/1."), let code = Int(status[1]), 100...999 ~= code else {
      throw URLError(.cannotParseResponse)
    }
    var fields: [String: String] = [:]
    var cookies: [String] = []
    for line in lines {
      guard let colon = line.firstIndex(of: ":") else { throw URLError(.cannotParseResponse) }
      let name = line[..<colon].trimmingCharacters(in: .whitespaces)
      let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      if name.lowercased() == "set-cookie" { cookies.append(value) }
      // [doc] httpurlresponse/allheaderfields: names are case-insensitive, lines of the same name are joined by a comma.
      let known = fields.keys.first { $0.lowercased() == name.lowercased() } ?? name
      fields[known] = fields[known].map { "\($0), \(value)" } ?? value
    }
    if code < 200 { return nil }
    guard
      let response = HTTPURLResponse(
        url: url, statusCode: code, httpVersion: String(status[0]), headerFields: fields)
    else { throw URLError(.cannotParseResponse) }
    (self.response, self.cookies) = (response, cookies)
  }
}

/// Reads the body of a response as it comes.
final class BodyReader {
  private enum Framing {
    case length(Int64)
    case chunked
    case untilClose
  }
  private let framing: Framing
  private let isClassic: Bool
  /// Bytes that are missing of the length, or of the chunk.
  private var left: Int64 = 0
  private var isInsideChunk = false
  private(set) var isWhole = false

  init(_ head: HTTPURLResponse, isHead: Bool, isClassic: Bool) throws {
    self.isClassic = isClassic
    if isHead || [204, 304].contains(head.statusCode) {
      framing = .length(0)
    } else if head.value(forHTTPHeaderField: "Transfer-Encoding")?.lowercased().contains("chunked") == true {
      framing = .chunked
    } else if let text = head.value(forHTTPHeaderField: "Content-Length") {
      guard let length = Int64(text), length >= 0 else { throw URLError(.cannotParseResponse) }
      framing = .length(length)
    } else {
      framing = .untilClose
    }
    if case .length(let length) = framing { (left, isWhole) = (length, length == 0) }
  }

  /// Nil: that was the end. `fill`: waits for more; false at the end of the connection.
  func next(_ connection: Connection, _ fill: () throws -> Bool) throws -> Data? {
    if isWhole { return nil }
    if case .chunked = framing {
      guard try chunkHasBytes(connection, fill) else {
        isWhole = true
        return nil
      }
    }
    if connection.buffer.isEmpty, try !fill() {
      if case .untilClose = framing { return nil }
      // [seen] The same for a Content-Length that is not reached, and for a chunk that is cut: -1005 (expo#49324).
      throw URLError.lost(-4, domain: 4)
    }
    if case .untilClose = framing { return connection.take(connection.buffer.count) }
    let data = connection.take(Int(min(left, Int64(connection.buffer.count))))
    left -= Int64(data.count)
    if case .length = framing { isWhole = left == 0 }
    return data
  }

  /// [seen] expo#49324, measured on iOS: a body that ends with the connection after a whole chunk is a success (the new
  /// loader says -1005; Apple: FB24495140), before the line break of a chunk -1017, within a chunk -1005; a reset is -1005.
  private func chunkHasBytes(_ connection: Connection, _ fill: () throws -> Bool) throws -> Bool {
    while left == 0 {
      guard let line = try line(connection, fill) else {
        if isInsideChunk { throw URLError(.cannotParseResponse) }
        if isClassic { return false }
        throw URLError.lost(-4, domain: 4)
      }
      if isInsideChunk {
        guard line.isEmpty else { throw URLError(.cannotParseResponse) }
        isInsideChunk = false
        continue
      }
      guard let size = Int64(line.prefix { $0 != ";" }, radix: 16), size >= 0 else {
        throw URLError(.cannotParseResponse)
      }
      if size == 0 {
        while let trailer = try self.line(connection, fill), !trailer.isEmpty {}
        return false
      }
      (left, isInsideChunk) = (size, true)
    }
    return true
  }

  private func line(_ connection: Connection, _ fill: () throws -> Bool) throws -> String? {
    while true {
      if let end = connection.buffer.firstIndex(of: 10) {
        let line = connection.take(end - connection.buffer.startIndex + 1)
        return String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
      }
      if connection.buffer.count > 65_536 { throw URLError(.cannotParseResponse) }
      if try !fill() { return nil }
    }
  }

  /// Whether the rest, if it has come already, leaves the connection as it was before the request.
  func skip(_ connection: Connection) -> Bool {
    guard case .length = framing, left <= connection.buffer.count else { return isWhole }
    _ = connection.take(Int(left))
    return connection.buffer.isEmpty
  }
}

/// Decodes gzip, zlib, and “deflate” without the header that it should have.
final class Inflater {
  private var stream = z_stream()
  private var hasBegun = false
  private var isAtEnd = false
  private let mayBeRaw: Bool

  /// Nil for a body that is not compressed.
  init?(_ head: HTTPURLResponse) {
    let coding = head.value(forHTTPHeaderField: "Content-Encoding")?.lowercased() ?? ""
    guard ["gzip", "x-gzip", "deflate"].contains(coding) else { return nil }
    mayBeRaw = coding == "deflate"
  }
  deinit { if hasBegun { inflateEnd(&stream) } }

  func decode(_ data: Data) throws -> Data {
    guard let first = data.first, !isAtEnd else { return Data() }
    if !hasBegun {
      // 47: gzip or zlib, whichever it is; -15: neither.
      let bits: Int32 = mayBeRaw && first & 15 != 8 ? -15 : 47
      inflateInit2_(&stream, bits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
      hasBegun = true
    }
    var input = [UInt8](data)
    var output = Data()
    var part = [UInt8](repeating: 0, count: 65_536)
    try input.withUnsafeMutableBufferPointer { input in
      (stream.next_in, stream.avail_in) = (input.baseAddress, UInt32(input.count))
      repeat {
        let status = part.withUnsafeMutableBufferPointer { part in
          (stream.next_out, stream.avail_out) = (part.baseAddress, UInt32(part.count))
          return inflate(&stream, Z_NO_FLUSH)
        }
        output.append(contentsOf: part[0..<(part.count - Int(stream.avail_out))])
        isAtEnd = status == Z_STREAM_END
        // [doc] urlerror/cannotdecoderawdata: -1015, “Content data received during a connection request cannot be decoded
        // for a known content encoding”.
        if ![Z_OK, Z_BUF_ERROR, Z_STREAM_END].contains(status) { throw URLError(.cannotDecodeRawData) }
      } while !isAtEnd && (stream.avail_in > 0 || stream.avail_out == 0)
    }
    return output
  }
}
