import Foundation

/// What the server does with one request: steps, one after the other. The connection is kept unless a step ends it.
public struct Answer: Sendable {
  /// One thing done to the connection.
  public enum Step: Sendable {
    /// Bytes on the wire, as they are.
    case send([UInt8])
    /// Nothing for so long.
    case pause(milliseconds: Int32)
    /// Nothing until the client goes away or the server stops.
    case hang
    /// FIN.
    case close
    /// RST.
    case reset
  }

  /// What is done, in this order.
  public var steps: [Step]

  /// Makes an answer of steps.
  public init(_ steps: [Step]) { self.steps = steps }

  /// The same text on the wire as a step.
  public static func text(_ text: String) -> Step { .send(Array(text.utf8)) }

  /// A right answer with Content-Length.
  public static func status(_ code: Int, _ headers: [(String, String)] = [], body: String = "") -> Answer {
    .init([.send(head(code, headers + [("Content-Length", "\(body.utf8.count)")]) + Array(body.utf8))])
  }

  /// 200 with a body.
  public static func ok(_ body: String = "ok") -> Answer { .status(200, body: body) }

  /// 200 with any bytes as its body.
  public static func ok(_ body: [UInt8], _ headers: [(String, String)] = []) -> Answer {
    .init([.send(head(200, headers + [("Content-Length", "\(body.count)")]) + body)])
  }

  /// A redirect.
  public static func redirect(_ code: Int = 302, to location: String, _ headers: [(String, String)] = []) -> Answer {
    .status(code, headers + [("Location", location)])
  }

  /// The head of an answer, with its empty line.
  public static func head(_ code: Int, _ headers: [(String, String)] = []) -> [UInt8] {
    Array(("HTTP/1.1 \(code) Some Reason\r\n" + headers.map { "\($0): \($1)\r\n" }.joined() + "\r\n").utf8)
  }

  // MARK: Misbehaviour

  /// RST in place of an answer.
  public static let reset = Answer([.reset])
  /// FIN in place of an answer.
  public static let close = Answer([.close])
  /// Silence.
  public static let hang = Answer([.hang])
  /// RST after the head and a part of the body.
  public static let resetInBody = Answer([
    .send(head(200, [("Content-Length", "100")])), text("a part"), .pause(milliseconds: 20), .reset,
  ])
  /// FIN before Content-Length bytes have been sent.
  public static let truncated = Answer([.send(head(200, [("Content-Length", "100")])), text("a part"), .close])
  /// FIN before the last chunk.
  public static let truncatedChunk = Answer([
    .send(head(200, [("Transfer-Encoding", "chunked")])), text("6\r\na part\r\n"), .close,
  ])
  /// A chunk whose size is no number.
  public static let brokenChunk = Answer([
    .send(head(200, [("Transfer-Encoding", "chunked")])), text("6\r\na part\r\nxyz\r\n"), .close,
  ])
  /// What is not HTTP.
  public static let garbage = Answer([text("I do not speak HTTP\r\n\r\n"), .close])
  /// A body that says gzip and is not.
  public static let badGzip = Answer.ok(Array("this is not gzip".utf8), [("Content-Encoding", "gzip")])
  /// The head, then silence.
  public static let stall = Answer([.send(head(200, [("Content-Length", "100")])), text("a part"), .hang])

  /// A right body, a piece at a time.
  public static func drip(_ body: String, pieces: Int, every milliseconds: Int32) -> Answer {
    let bytes = Array(body.utf8)
    let size = max(1, bytes.count / max(1, pieces))
    var steps: [Step] = [.send(head(200, [("Content-Length", "\(bytes.count)")]))]
    for start in stride(from: 0, to: bytes.count, by: size) {
      steps += [.pause(milliseconds: milliseconds), .send(Array(bytes[start..<min(start + size, bytes.count)]))]
    }
    return .init(steps)
  }
}
