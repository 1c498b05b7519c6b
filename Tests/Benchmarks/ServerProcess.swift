import Foundation
import LoopbackServer

/// What the server has sent for films.
private final class Bytes: @unchecked Sendable {
  private let lock = NSLock()
  private(set) var total = 0
  func count(_ response: ScriptedResponse) -> ScriptedResponse {
    for case .send(let bytes) in response.steps { lock.withLock { total += bytes.count } }
    return response
  }
}

/// The server in a process of its own, so that what it costs is not counted.
final class ServerProcess {
  let url: URL
  private let process: ChildProcess
  /// The child ends when this is closed.
  private let input = Pipe()

  init() throws {
    process = try ChildProcess(CommandLine.arguments[0], ["serve"], input: input.fileHandleForReading)
    while !process.out.hasSuffix("\n") { Thread.sleep(forTimeInterval: 0.005) }
    guard let url = URL(string: process.out.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw CocoaError(.fileReadUnknown)
    }
    self.url = url
  }

  deinit { process.send(SIGTERM) }

  /// What another process of the benchmarks prints.
  static func output(of arguments: [String]) throws -> String {
    let process = try ChildProcess(CommandLine.arguments[0], arguments)
    process.wait()
    return process.out
  }

  /// Runs in the child process until its parent ends. The path names the number of bytes, or it is one of those for
  /// large files.
  static func serve() throws {
    let json = #"{"id":12345,"name":"an item","ok":true}"#
    let bodies = [40: Array(json.utf8), 1_000_000: [UInt8](repeating: 65, count: 1_000_000)]
    let film = Transfers.film
    let sent = Bytes()
    let server = try LoopbackServer(isRecording: false) { request in
      switch request.target {
      case "/film": return sent.count(.file(film, for: request))
      // The line drops every 10 MB.
      case "/dropping": return sent.count(.file(film, for: request, cut: 10_000_000))
      case "/sent": return .ok("\(sent.total)")
      case "/upload": return .ok("\(request.body.count)")
      default: break
      }
      return .ok(bodies[Int(request.target.dropFirst()) ?? 40] ?? [], [("Content-Type", "application/json")])
    }
    FileHandle.standardOutput.write(Data("\(server.url())\n".utf8))
    while readLine() != nil {}
  }
}
