import Dispatch
import Foundation
import Wynd

/// `wynd-fetch`: the demonstration without arguments, otherwise one request to a URL.
enum Command {
  static let version = "1.0.0-dev"
  static let usage = """
    usage: wynd-fetch                    watch a request survive a misbehaving server
           wynd-fetch URL [OPTION]...    send a request, and retry it when that is useful and safe

    A URL without a scheme is http. The options are those of curl, except the last four:

      -o FILE, -O         write the body to FILE, or to a file named as in the URL; it appears when it is complete
      -C -                continue an interrupted download with -o or -O
      -d DATA             send DATA (POST); again: joined with &; @FILE without its line breaks, @- is stdin
      --data-binary DATA  the same, with the line breaks of @FILE; --data-raw gives @ no meaning
      --json DATA         send JSON (POST), and accept JSON; @FILE as above
      -G                  put what -d has into the query instead
      -F NAME=VALUE       send a multipart form (POST); NAME=@FILE;type=TYPE sends a file
      -T FILE             send FILE (PUT)
      -X METHOD, -I       another method; HEAD
      -H 'Name: value'    add a header field, or those in @FILE; -A and -e set User-Agent and Referer
      -u USER:PASSWORD    use Basic authentication; --oauth2-bearer TOKEN sends a bearer token
      -i                  write the status and the header fields before the body
      -f                  write no body after a status of 400 and up
      -N                  write the body while it arrives; it is not retried after its first byte
      -s, -v              no progress bar; every attempt, failure and wait
      -m SECONDS, --deadline SECONDS    the limit for the whole call

      --max-retries N, --retry N        10 unless you set it; for downloads, only consecutive retries count
      --sha256 HEX                      check the file of -o before it appears
      --events                          every attempt, failure and wait as one line of JSON
      --version, --help

    The body goes to stdout or FILE, everything else to stderr. Redirects are followed.
    Exit codes: 0 success, 1 no response, 2 wrong arguments, 22 status 400 and up,
    23 a file could not be read or written, 130 interrupted.
    """

  static func run(_ arguments: [String]) async -> Int32 {
    switch arguments {
    case []: return await Demonstration.run()
    case ["--help"], ["-h"]: say(usage)
    case ["--version"], ["-V"]: say("wynd-fetch \(version)")
    default:
      do {
        let options = try Options(arguments)
        let work = Task { await Fetch(options).run() }
        return await Interrupt.cancelling(work) { await work.value }
      } catch {
        let usage = "\nusage: wynd-fetch URL [OPTION]...; see wynd-fetch --help"
        note("wynd-fetch: \(error.reason)" + (error.isFile ? "" : usage))
        return error.isFile ? 23 : 2
      }
    }
    return 0
  }

  /// Writes at once. `print` would wait until 4 KB are there if stdout is a pipe.
  static func say(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8)) }
  static func note(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8)) }
}

/// Ctrl-C cancels the call.
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
