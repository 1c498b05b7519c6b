import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The server receives path segments and query values byte for byte.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct EndpointRoundTripTests {
  struct Values: Endpoint {
    typealias Response = Void
    let port: Int?
    let segments: [String]
    let values: [(String, String)]
    let inPlainPath: Bool
    var scheme: String { "http" }
    var host: String { "127.0.0.1" }
    var path: String { "/" + segments.joined(separator: "/") }
    var percentEncodedPath: String {
      inPlainPath
        ? PlainPath(path: path).percentEncodedPath : "/" + segments.map(Self.percentEncoded).joined(separator: "/")
    }
    var queryItems: [URLQueryItem] { values.map { URLQueryItem(name: $0, value: $1) } }
    static func percentEncoded(_ segment: String) -> String { percentEncoded(segment: segment) }
  }

  /// Uses neither Foundation nor the encoder under test.
  static func decoded(_ text: Substring.UTF8View) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "+") { return nil }
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst(), let low = rest.popFirst(),
        let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(value)
    }
    return bytes
  }

  static func text(_ random: inout some RandomNumberGenerator) -> String {
    let reserved = Array("+&=;/?#%: @!$'()*,[]{}<>|\\^`\"~-._aZ09\u{0}\u{7F}\r\n\t".unicodeScalars)
    var text = ""
    for _ in 0..<Int.random(in: 1...12, using: &random) {
      switch Int.random(in: 0..<4, using: &random) {
      case 0, 1: text.unicodeScalars.append(reserved.randomElement(using: &random) ?? "x")
      case 2: text.unicodeScalars.append(Unicode.Scalar(UInt8.random(in: 0...255, using: &random)))
      default:
        text.unicodeScalars.append(Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random)) ?? "\u{1F415}")
      }
    }
    return text
  }

  @Test func serverReceivesThreeThousandPathsAndQueriesUnchanged() async throws {
    try await Turn.take {
      let seed = UInt64.random(in: 0...UInt64.max)
      let session = URLSession(configuration: .ephemeral)
      let server = try LoopbackServer(script: .ok())
      try await withThrowingTaskGroup(of: [Values].self) { group in
        for worker in 0..<6 {
          group.addTask {
            var random = SeededRandom(seed: seed &+ UInt64(worker))
            var sent: [Values] = []
            for number in 0..<500 {
              let inPlainPath = number.isMultiple(of: 2)
              let segments = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                let text = Self.text(&random)
                // In the plain path a slash separates segments, and a question mark is rejected; and no segment can be
                // "." or "..".
                let plain = text.unicodeScalars.filter { $0 != "/" && $0 != "?" }
                return "x" + (inPlainPath ? String(String.UnicodeScalarView(plain)) : text)
              }
              let values =
                [("worker", "\(worker)-\(number)")] + (0..<2).map { _ in (Self.text(&random), Self.text(&random)) }
              let endpoint = Values(
                port: Int(server.port), segments: segments, values: values, inPlainPath: inPlainPath)
              try await session.load(endpoint)
              sent.append(endpoint)
            }
            return sent
          }
        }
        var received: [String: String] = [:]
        var all: [Values] = []
        for try await sent in group { all += sent }
        for request in server.requests {
          let mark = request.target.components(separatedBy: "?worker=").last?.prefix { $0 != "&" }
          received[String(mark ?? "")] = request.target
        }
        #expect(all.count == 3_000)
        for values in all {
          let target = try #require(received[values.values[0].1])
          let halves = target.split(separator: "?", maxSplits: 1)
          let segments = halves[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
          #expect(
            segments.map { Self.decoded($0.utf8) } == values.segments.map { Array($0.utf8) }, "seed \(seed): \(target)")
          let pairs = halves[1].split(separator: "&", omittingEmptySubsequences: false).map {
            $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { Self.decoded($0.utf8) }
          }
          #expect(pairs == values.values.map { [Array($0.utf8), Array($1.utf8)] }, "seed \(seed): \(target)")
        }
      }
    }
  }
}
