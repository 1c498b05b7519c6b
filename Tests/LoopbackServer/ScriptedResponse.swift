import Foundation

/// The response of the server to one request, as a list of steps. The connection stays open unless a step ends it.
public struct ScriptedResponse: Sendable {
  /// An action on the connection.
  public enum Step: Sendable {
    /// Sends these bytes unchanged.
    case send([UInt8])
    /// Waits.
    case pause(milliseconds: Int32)
    /// Waits until the client closes the connection or the server stops.
    case hang
    /// Closes the connection (FIN).
    case close
    /// Resets the connection (RST).
    case reset
  }

  /// The steps, in order.
  public var steps: [Step]

  /// Creates a response from steps.
  public init(_ steps: [Step]) { self.steps = steps }

  /// A step that sends the text as UTF-8.
  public static func text(_ text: String) -> Step { .send(Array(text.utf8)) }

  /// A correct response with Content-Length.
  public static func status(_ code: Int, _ headers: [(String, String)] = [], body: String = "") -> ScriptedResponse {
    .init([.send(head(code, headers + [("Content-Length", "\(body.utf8.count)")]) + Array(body.utf8))])
  }

  /// 200 with a body.
  public static func ok(_ body: String = "ok") -> ScriptedResponse { .status(200, body: body) }

  /// 200 with these bytes as its body.
  public static func ok(_ body: [UInt8], _ headers: [(String, String)] = []) -> ScriptedResponse {
    .init([.send(head(200, headers + [("Content-Length", "\(body.count)")]) + body)])
  }

  /// A redirect.
  public static func redirect(_ code: Int = 302, to location: String, _ headers: [(String, String)] = [])
    -> ScriptedResponse
  {
    .status(code, headers + [("Location", location)])
  }

  /// The status line and the headers of a response, with the empty line after them.
  public static func head(_ code: Int, _ headers: [(String, String)] = []) -> [UInt8] {
    Array(("HTTP/1.1 \(code) Some Reason\r\n" + headers.map { "\($0): \($1)\r\n" }.joined() + "\r\n").utf8)
  }

  // MARK: Faults

  /// Resets the connection without a response.
  public static let reset = ScriptedResponse([.reset])
  /// Closes the connection without a response.
  public static let close = ScriptedResponse([.close])
  /// Sends nothing, and keeps the connection open.
  public static let hang = ScriptedResponse([.hang])
  /// Resets the connection after the headers and a part of the body.
  public static let resetInBody = ScriptedResponse([
    .send(head(200, [("Content-Length", "100")])), text("a part"), .pause(milliseconds: 20), .reset,
  ])
  /// Closes the connection before Content-Length bytes have been sent.
  public static let truncated = ScriptedResponse([
    .send(head(200, [("Content-Length", "100")])), text("a part"), .close,
  ])
  /// Closes the connection before the last chunk.
  public static let truncatedChunk = ScriptedResponse([
    .send(head(200, [("Transfer-Encoding", "chunked")])), text("6\r\na part\r\n"), .close,
  ])
  /// A chunk whose size is not a number.
  public static let brokenChunk = ScriptedResponse([
    .send(head(200, [("Transfer-Encoding", "chunked")])), text("6\r\na part\r\nxyz\r\n"), .close,
  ])
  /// Bytes that are not HTTP.
  public static let garbage = ScriptedResponse([text("I do not speak HTTP\r\n\r\n"), .close])
  /// A body that is not gzip, although its Content-Encoding says so.
  public static let badGzip = ScriptedResponse.ok(Array("this is not gzip".utf8), [("Content-Encoding", "gzip")])
  /// The headers and a part of the body, then nothing.
  public static let stall = ScriptedResponse([.send(head(200, [("Content-Length", "100")])), text("a part"), .hang])

  /// A correct response whose body is sent in pieces, with a pause before each.
  public static func drip(_ body: String, pieces: Int, every milliseconds: Int32) -> ScriptedResponse {
    let bytes = Array(body.utf8)
    let size = max(1, bytes.count / max(1, pieces))
    var steps: [Step] = [.send(head(200, [("Content-Length", "\(bytes.count)")]))]
    for start in stride(from: 0, to: bytes.count, by: size) {
      steps += [.pause(milliseconds: milliseconds), .send(Array(bytes[start..<min(start + size, bytes.count)]))]
    }
    return .init(steps)
  }
}
