import Dispatch
import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// `wynd`: without arguments the demonstration, with a URL a fetch that does not give up easily.
enum Command {
  static let version = "1.0.0-dev"
  static let usage = """
    usage: wynd                     watch a request survive a misbehaving server
           wynd URL [OPTION]...     get it, no matter what

      -o FILE            the body goes to FILE, which appears when it is whole; a line that drops costs the rest only
      -C                 go on with what an interrupted `-o FILE` has left
      --sha256 HEX       FILE must be this
      --upload FILE, -T  send FILE (PUT, unless -X says otherwise)
      -d DATA            send DATA (POST, unless -X says otherwise)
      -X METHOD          the method
      -H 'Name: value'   a header field; as often as you like
      -i                 status and header fields before the body, of an error too
      -N                 to stdout as it comes; what has come is not asked for again
      --max-retries N    10 unless you say otherwise; of a download, those in a row that bring nothing
      --deadline SECONDS for the whole call
      --json             what happens on the way as one JSON object a line
      --quiet, -s        nothing of what happens on the way
      --version, --help

    The body goes to stdout or FILE, what happens on the way to stderr. Redirects are followed.
    Exit codes: 0 success, 1 no answer, 2 wrong arguments, 22 the server answered with an error (400 and up),
    23 a file could not be read or written, 130 interrupted.
    """

  static func run(_ arguments: [String]) async -> Int32 {
    switch arguments {
    case []: return await Demonstration.run()
    case ["--help"], ["-h"]: say(usage)
    case ["--version"]: say("wynd \(version)")
    default:
      do {
        let options = try Options(arguments)
        let work = Task { await Fetch(options).run() }
        return await Interrupt.cancelling(work) { await work.value }
      } catch {
        note("wynd: \(error.reason)\nusage: wynd URL [OPTION]...; wynd --help lists the rest")
        return 2
      }
    }
    return 0
  }

  /// At once, into a pipe too, where `print` waits for 4 KB.
  static func say(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8)) }
  static func note(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8)) }
}

/// Ctrl-C.
enum Interrupt {
  static func cancelling(_ work: Task<Int32, Never>, _ body: () async -> Int32) async -> Int32 {
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler { work.cancel() }
    source.activate()
    defer { source.cancel() }
    return await body()
  }
}
