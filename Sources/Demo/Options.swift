import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The command line, read.
/// A value that is wrong may be a secret in the wrong place: it is not repeated.
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
  /// As `-o` names it.
  var file: String?
  var resumes = false
  var upload: String?
  var sha256: String?
  var isStream = false
  var showsHead = false
  var isJSON = false
  var maxRetries: Int?
  var deadline: Duration?
  var isQuiet = false

  /// What cannot be replaced by a file: a device, a pipe, or a name for one that is open.
  var isDevice: Bool {
    guard let file else { return false }
    if ["/dev/", "/proc/"].contains(where: file.hasPrefix) { return true }
    let path = URL(filePath: file).resolvingSymlinksInPath().path
    let type = (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
    return type.map { $0 != .typeRegular && $0 != .typeDirectory } ?? false
  }

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
        guard Self.isToken(name) else { throw Wrong(reason: "what follows -X is not a method") }
        method = name
      case "-d": body = Data(try value().utf8)
      case "-H":
        let field = try value()
        guard let colon = field.firstIndex(of: ":"), colon > field.startIndex else {
          throw Wrong(reason: "what follows -H is not 'Name: value'")
        }
        let name = String(field[..<colon])
        let content = field[field.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
        // Foundation drops a field with such a character, and the request would go out without it.
        guard Self.isToken(name), !content.unicodeScalars.contains(where: { $0.value < 32 && $0 != "\t" }) else {
          throw Wrong(reason: "what follows -H is not a header field")
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
      case "--quiet", "-s": isQuiet = true
      case "--json": isJSON = true
      case "-i": showsHead = true
      // Redirects are followed anyway.
      case "-L", "--location": break
      case "-N": isStream = true
      case "-C": resumes = true
      case "--upload", "-T": upload = try value()
      case "--sha256":
        let digits = try value()
        guard digits.count == 64, digits.allSatisfy(\.isHexDigit) else {
          throw Wrong(reason: "--sha256 needs 64 hexadecimal digits")
        }
        sha256 = digits
      default:
        if argument.hasPrefix("-") { throw Wrong(reason: "unknown option \(argument.prefix { $0 != "=" })") }
        guard url == nil else { throw Wrong(reason: "one URL at a time") }
        url = URL(string: argument)
        guard let scheme = url?.scheme?.lowercased(), ["http", "https"].contains(scheme), url?.host?.isEmpty == false
        else {
          throw Wrong(reason: "what stands for the URL is not an http or https URL")
        }
      }
    }
    guard let url else { throw Wrong(reason: "no URL") }
    request = URLRequest(url: url)
    if upload != nil, body != nil { throw Wrong(reason: "--upload and -d are two bodies") }
    if upload != nil, file != nil { throw Wrong(reason: "--upload and -o do not go together") }
    if file == "-" { file = nil }
    if resumes || sha256 != nil, file == nil || isDevice {
      throw Wrong(reason: "-C and --sha256 need -o FILE, a regular file")
    }
    request.httpMethod = method ?? (upload != nil ? "PUT" : body == nil ? "GET" : "POST")
    request.httpBody = body
    for (name, value) in fields { request.addValue(value, forHTTPHeaderField: name) }
  }
}
