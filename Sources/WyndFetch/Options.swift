import Foundation
import Wynd

/// The parsed command line. Options have the names and the meaning that they have in curl.
///
/// A value that is wrong may be a secret in the wrong place, so no message repeats it.
struct Options {
  struct Wrong: Error {
    var reason: String
    /// A file that cannot be read is no mistake in the arguments.
    var isFile = false
  }

  var request: URLRequest
  /// As `-o` names it.
  var file: String?
  var bearerToken: String?
  var resumes = false
  var upload: RequestBody?
  var sha256: String?
  var isStream = false
  var showsHead = false
  /// False with `-f`.
  var showsErrorBody = true
  var isVerbose = false
  /// The events are written as JSON.
  var isJSON = false
  var maxRetries: Int?
  var deadline: Duration?
  var isQuiet = false

  /// Something that a file cannot replace: a device, a pipe, or the name of an open file.
  var isDevice: Bool {
    guard let file else { return false }
    if ["/dev/", "/proc/"].contains(where: file.hasPrefix) { return true }
    let path = URL(filePath: file).resolvingSymlinksInPath().path
    let type = (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
    return type.map { $0 != .typeRegular && $0 != .typeDirectory } ?? false
  }

  private static let longNames = [
    "--output": "-o", "--remote-name": "-O", "--continue-at": "-C", "--upload-file": "-T", "--data": "-d",
    "--data-ascii": "-d", "--form": "-F", "--get": "-G", "--request": "-X", "--header": "-H", "--user": "-u",
    "--user-agent": "-A", "--referer": "-e", "--head": "-I", "--include": "-i", "--no-buffer": "-N", "--fail": "-f",
    "--location": "-L", "--silent": "-s", "--quiet": "-s", "--show-error": "-S", "--verbose": "-v", "--upload": "-T",
    "--max-time": "--deadline", "-m": "--deadline", "--retry": "--max-retries",
  ]
  /// Options of curl that are not here, and what does the same.
  private static let instead = [
    "-k": "certificates are always checked", "--insecure": "certificates are always checked",
    "-x": "set http_proxy or https_proxy", "--proxy": "set http_proxy or https_proxy", "-b": "use -H 'Cookie: ...'",
    "--cookie": "use -H 'Cookie: ...'", "-c": "-i shows Set-Cookie", "--cookie-jar": "-i shows Set-Cookie",
    "--data-urlencode": "encode the value, and use -d", "--connect-timeout": "use --deadline",
    "-D": "use -i", "--dump-header": "use -i", "-w": "use -i or --events", "--write-out": "use -i or --events",
    "-r": "use -H 'Range: ...'", "--range": "use -H 'Range: ...'",
  ]

  init(_ arguments: [String]) throws(Wrong) {
    var rest = arguments[...]
    var address: String?
    var method: String?
    var data: [Data] = []
    var json: Data?
    var parts: [RequestBody.Part] = []
    var source: String?
    var (defaults, fields): ([String: String], [(String, String)]) = ([:], [])
    var (isHead, isQuery, isNamedByURL) = (false, false, false)
    while let argument = rest.popFirst() {
      guard argument.hasPrefix("-"), argument != "-" else {
        if address != nil { throw Wrong(reason: "one URL at a time") }
        address = argument
        continue
      }
      // -sS is -s -S, and -XPOST is -X POST.
      let isLong = argument.hasPrefix("--")
      var joined = isLong ? "" : String(argument.dropFirst(2))
      let given = isLong ? argument : String(argument.prefix(2))
      let option = Self.longNames[given] ?? given
      func value() throws(Wrong) -> String {
        defer { joined = "" }
        guard let value = joined.isEmpty ? rest.popFirst() : joined else {
          throw Wrong(reason: "\(given) needs a value")
        }
        return value
      }
      switch option {
      case "-o": file = try value()
      case "-O": isNamedByURL = true
      case "-X": method = try value()
      case "-d":
        let text = try value()
        // As curl does: without line breaks, so that a text file is one line of a form.
        data.append(try text.hasPrefix("@") ? Self.read(text).filter { ![0, 10, 13].contains($0) } : Data(text.utf8))
      case "--data-binary":
        let text = try value()
        data.append(try text.hasPrefix("@") ? Self.read(text) : Data(text.utf8))
      case "--json":
        let text = try value()
        json = try (json ?? Data()) + (text.hasPrefix("@") ? Self.read(text) : Data(text.utf8))
        defaults["Content-Type"] = "application/json"
        defaults["Accept"] = "application/json"
      case "--data-raw": data.append(Data(try value().utf8))
      case "-F": parts.append(try Self.part(value()))
      case "-G": isQuery = true
      case "-H":
        let text = try value()
        let lines = try text.hasPrefix("@") ? String(decoding: Self.read(text), as: UTF8.self) : nil
        for line in lines?.split(whereSeparator: \.isNewline).map(String.init) ?? [text] {
          fields.append(try Self.field(line))
        }
      case "-A": defaults["User-Agent"] = try Self.field("User-Agent: " + value()).1
      case "-e": defaults["Referer"] = try Self.field("Referer: " + value()).1
      case "-u":
        let user = try value()
        guard user.contains(":") else { throw Wrong(reason: "-u needs user:password; there is no prompt") }
        defaults["Authorization"] = "Basic " + Data(user.utf8).base64EncodedString()
      case "--oauth2-bearer": bearerToken = try value()
      case "--max-retries":
        guard let number = Int(try value()), number >= 0 else {
          throw Wrong(reason: "\(given) needs a number from 0 up")
        }
        maxRetries = number
      case "--deadline":
        guard let seconds = Double(try value()), seconds >= 1e-9, seconds <= 9e9 else {
          throw Wrong(reason: "\(given) needs a number of seconds above 0")
        }
        deadline = .nanoseconds(Int64(seconds * 1e9))
      case "-C":
        resumes = true
        // The value that it has in curl may be left out.
        let next = joined.isEmpty ? rest.first ?? "" : joined
        if next == "-" {
          _ = try value()
        } else if Int(next) != nil {
          throw Wrong(reason: "\(given) takes no offset; \(given) - finds out where the file ends")
        }
      case "-T": source = try value()
      case "--url": address = try value()
      case "--sha256":
        let digits = try value()
        guard digits.count == 64, digits.allSatisfy(\.isHexDigit) else {
          throw Wrong(reason: "--sha256 needs 64 hexadecimal digits")
        }
        sha256 = digits
      case "-s": isQuiet = true
      case "-v": isVerbose = true
      case "--events": isJSON = true
      case "-i": showsHead = true
      case "-I": (isHead, showsHead) = (true, true)
      case "-f": showsErrorBody = false
      case "-N": isStream = true
      // These are so without being asked for: errors are shown, redirects followed, responses decompressed.
      case "-S", "-L", "--compressed": break
      default:
        let name = String(given.prefix { $0 != "=" })
        throw Wrong(reason: Self.instead[name].map { "\(name) is not supported: \($0)" } ?? "unknown option \(name)")
      }
      if !joined.isEmpty { rest = ["-" + joined] + rest }
    }

    guard var address else { throw Wrong(reason: "no URL") }
    let form = data.isEmpty ? nil : Data(data.joined(separator: Data("&".utf8)))
    if isQuery, let form { address += (address.contains("?") ? "&" : "?") + String(decoding: form, as: UTF8.self) }
    let bodies = [source != nil, !parts.isEmpty, form != nil && !isQuery, json != nil].count { $0 }
    if bodies > 1 { throw Wrong(reason: "-d, -F, -T and --json are two bodies") }
    // As curl does: the name of the file, if the URL has none.
    if let source {
      if !address.components(separatedBy: "://")[address.contains("://") ? 1 : 0].contains("/") { address += "/" }
      if address.hasSuffix("/") { address += URL(filePath: source).lastPathComponent }
    }
    if isHead, bodies > 0 { throw Wrong(reason: "-I sends no body; -i shows the header fields of a response to -d") }
    request = URLRequest(url: try Self.url(address))
    if isNamedByURL {
      file = request.url?.lastPathComponent
      if ["", "/"].contains(file) {
        throw Wrong(reason: "-O needs a URL that ends with a file name; -o FILE names one")
      }
    }
    if source != nil || !parts.isEmpty || isHead, file != nil {
      throw Wrong(reason: "-T, -F and -I do not go together with -o; redirect stdout")
    }
    if file == "-" { file = nil }
    if resumes || sha256 != nil, file == nil || isDevice {
      throw Wrong(reason: "-C and --sha256 need -o FILE or -O, a regular file")
    }
    if let source { upload = .file(URL(filePath: source)) }
    if !parts.isEmpty { upload = .multipart(parts) }
    request.httpMethod = method ?? (isHead ? "HEAD" : source != nil ? "PUT" : bodies > 0 ? "POST" : "GET")
    guard Self.isToken(request.httpMethod ?? "") else { throw Wrong(reason: "what follows -X is not a method") }
    if request.httpMethod == "GET", bodies > 0 { throw Wrong(reason: "a GET has no body; -G puts -d into the query") }
    if let json { request.httpBody = json }
    if let form, !isQuery {
      request.httpBody = form
      defaults["Content-Type"] = "application/x-www-form-urlencoded"
    }
    for (name, value) in defaults { request.setValue(value, forHTTPHeaderField: name) }
    // A field of -H replaces that of another option, or removes it if it is empty.
    for (name, _) in fields { request.setValue(nil, forHTTPHeaderField: name) }
    for (name, value) in fields where !value.isEmpty { request.addValue(value, forHTTPHeaderField: name) }
  }

  /// As in curl, a URL without a scheme is http.
  private static func url(_ text: String) throws(Wrong) -> URL {
    let url = URL(string: text.contains("://") ? text : "http://" + text)
    guard let url, let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
      let host = url.host, !host.isEmpty, !host.contains("%")
    else { throw Wrong(reason: "what stands for the URL is not an http or https URL") }
    return url
  }

  private static func field(_ text: String) throws(Wrong) -> (String, String) {
    guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else {
      throw Wrong(reason: "what follows -H is not 'Name: value'")
    }
    let name = String(text[..<colon])
    let content = text[text.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
    // Foundation drops a field with such a character, and the request would go out without it.
    guard isToken(name), !content.unicodeScalars.contains(where: { $0.value < 32 && $0 != "\t" }) else {
      throw Wrong(reason: "what follows -H is not a header field")
    }
    return (name, content)
  }

  /// `name=text`, `name=<file`, or `name=@file`, which `;type=...` and `;filename=...` may follow.
  private static func part(_ text: String) throws(Wrong) -> RequestBody.Part {
    let wrong = Wrong(reason: "what follows -F is not name=value, name=<file or name=@file;type=...;filename=...")
    guard let sign = text.firstIndex(of: "="), sign > text.startIndex else { throw wrong }
    let (name, content) = (String(text[..<sign]), String(text[text.index(after: sign)...]))
    var words = content.components(separatedBy: ";")
    guard content.hasPrefix("@") else {
      // These mean something else in curl.
      if content.hasPrefix("\"") || words.dropFirst().contains(where: { $0.contains("=") }) { throw wrong }
      let value = try content.hasPrefix("<") ? String(decoding: read(content), as: UTF8.self) : content
      return RequestBody.Part(name: name, value: value)
    }
    let file = URL(filePath: String(words.removeFirst().dropFirst()))
    var (fileName, contentType): (String?, String) = (nil, "application/octet-stream")
    for word in words {
      if word.hasPrefix("type=") {
        contentType = String(word.dropFirst(5))
      } else {
        guard word.hasPrefix("filename=") else { throw wrong }
        fileName = String(word.dropFirst(9))
      }
    }
    return RequestBody.Part(name: name, file: file, fileName: fileName, contentType: contentType)
  }

  /// The file after `@` or `<`; `-` is stdin.
  private static func read(_ text: String) throws(Wrong) -> Data {
    let name = String(text.dropFirst())
    if name == "-" { return (try? FileHandle.standardInput.readToEnd()) ?? Data() }
    do { return try Data(contentsOf: URL(filePath: name)) } catch {
      throw Wrong(reason: "\(name) cannot be read", isFile: true)
    }
  }

  /// RFC 9110 §5.6.2
  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.unicodeScalars.allSatisfy {
        $0.properties.isAlphabetic && $0.isASCII || "0123456789!#$%&'*+-.^_`|~".unicodeScalars.contains($0)
      }
  }
}
