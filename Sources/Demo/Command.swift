import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// `wynd`: without arguments the demonstration, with a URL a fetch that does not give up easily.
enum Command {
  static let usage = """
    usage: wynd                                    watch a request survive a misbehaving server
           wynd URL [-o FILE] [-X METHOD] [-H 'Name: value']... [-d DATA]
                    [--max-retries N] [--deadline SECONDS] [--quiet]

    The body goes to stdout or FILE, what happens on the way to stderr.
    Exit codes: 0 success, 2 wrong arguments, 22 the server answered with an error (400 and up), 1 anything else.
    """

  static func run(_ arguments: [String]) async -> Int32 {
    if arguments.isEmpty { return await Demonstration.run() }
    if arguments == ["--help"] || arguments == ["-h"] {
      print(usage)
      return 0
    }
    do {
      return await fetch(try Options(arguments))
    } catch {
      note("wynd: \(error.reason)\n\(usage)")
      return 2
    }
  }

  /// At once, into a pipe too, where `print` waits for 4 KB.
  static func say(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8)) }
  static func note(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8)) }

  private static func fetch(_ options: Options) async -> Int32 {
    var policy = RetryPolicy.default
    policy.deadline = options.deadline
    if !options.isQuiet { policy.onEvent = { note("\($0)") } }
    let data: Data
    do throws(NetworkError) {
      data = try await URLSession.shared.performNetworkRequest(
        options.request, maxRetries: options.maxRetries, allowEmptyData: true, policy: policy)
    } catch {
      note("wynd: \(error.debugDescription)")
      if let body = error.data { _ = write(body, to: options.file) }
      return error.statusCode == nil ? 1 : 22
    }
    return write(data, to: options.file) ? 0 : 1
  }

  private static func write(_ data: Data, to file: String?) -> Bool {
    do {
      if let file {
        try data.write(to: URL(filePath: file))
      } else {
        try FileHandle.standardOutput.write(contentsOf: data)
      }
      return true
    } catch {
      note("wynd: cannot write to \(file ?? "stdout"): \(error.localizedDescription)")
      return false
    }
  }
}

/// The command line, read.
struct Options {
  /// RFC 9110 §5.6.2
  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.unicodeScalars.allSatisfy {
        $0.properties.isAlphabetic && $0.isASCII || "0123456789!#$%&'*+-.^_`|~".unicodeScalars.contains($0)
      }
  }

  struct Wrong: Error { var reason: String }

  var request: URLRequest
  var file: String?
  var maxRetries: Int?
  var deadline: Duration?
  var isQuiet = false

  init(_ arguments: [String]) throws(Wrong) {
    var rest = arguments[...]
    var url: URL?
    var method: String?
    var body: Data?
    var fields: [(String, String)] = []
    while let argument = rest.popFirst() {
      func value() throws(Wrong) -> String {
        guard let value = rest.popFirst() else { throw Wrong(reason: "\(argument) needs a value") }
        return value
      }
      switch argument {
      case "-o": file = try value()
      case "-X":
        let name = try value()
        guard Self.isToken(name) else { throw Wrong(reason: "'\(name)' is not a method") }
        method = name
      case "-d": body = Data(try value().utf8)
      case "-H":
        let field = try value()
        guard let colon = field.firstIndex(of: ":"), colon > field.startIndex else {
          throw Wrong(reason: "'\(field)' is not 'Name: value'")
        }
        let name = String(field[..<colon])
        let content = field[field.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
        // Foundation drops a field with such a character, and the request would go out without it.
        guard Self.isToken(name), !content.unicodeScalars.contains(where: { $0.value < 32 && $0 != "\t" }) else {
          throw Wrong(reason: "'\(field)' is not a header field")
        }
        fields.append((name, content))
      case "--max-retries":
        guard let number = Int(try value()), number >= 0 else {
          throw Wrong(reason: "--max-retries needs a number, 0 or more")
        }
        maxRetries = number
      case "--deadline":
        guard let seconds = Double(try value()), seconds >= 1e-9, seconds <= 9e9 else {
          throw Wrong(reason: "--deadline needs a number of seconds above 0")
        }
        deadline = .nanoseconds(Int64(seconds * 1e9))
      case "--quiet": isQuiet = true
      default:
        if argument.hasPrefix("-") { throw Wrong(reason: "unknown option \(argument)") }
        guard url == nil else { throw Wrong(reason: "one URL at a time") }
        url = URL(string: argument)
        guard let scheme = url?.scheme?.lowercased(), ["http", "https"].contains(scheme), url?.host?.isEmpty == false
        else {
          throw Wrong(reason: "'\(argument)' is not an http or https URL")
        }
      }
    }
    guard let url else { throw Wrong(reason: "no URL") }
    request = URLRequest(url: url)
    request.httpMethod = method ?? (body == nil ? "GET" : "POST")
    request.httpBody = body
    for (name, value) in fields { request.addValue(value, forHTTPHeaderField: name) }
  }
}
