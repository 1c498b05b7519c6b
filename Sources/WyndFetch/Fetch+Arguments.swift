import Foundation
import Wynd

extension Fetch {
  struct WrongArguments: Error {
    /// Repeats no value, because a secret may stand in the wrong place.
    let reason: String
  }

  init(_ arguments: [String]) throws(WrongArguments) {
    var address: String?
    var isVerbose = false
    var values: [String: [String]] = [:]
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "-v": isVerbose = true
      case "-o", "-X", "-H", "-d", "--max-retries", "--deadline":
        guard let value = rest.popFirst() else { throw WrongArguments(reason: "\(argument) needs a value") }
        values[argument, default: []].append(value)
      default:
        if argument.hasPrefix("-") {
          // Without its value, if that follows without a space.
          let name = argument.hasPrefix("--") ? argument.prefix { $0 != "=" } : argument.prefix(2)
          throw WrongArguments(
            reason: "the option \(name) is unknown, or is not separated from its value by a space")
        }
        if address != nil { throw WrongArguments(reason: "there is more than one URL") }
        address = argument
      }
    }

    guard let url = address.flatMap(URL.init(string:)), ["http", "https"].contains(url.scheme?.lowercased()) else {
      throw WrongArguments(reason: "a URL that begins with https:// or http:// is missing")
    }
    request = URLRequest(url: url)
    file = values["-o"]?.last.map { URL(filePath: $0) }
    for field in values["-H"] ?? [] {
      let parts = field.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, !field.contains(where: \.isNewline) else {
        throw WrongArguments(reason: "-H needs 'Name: value'")
      }
      request.addValue(parts[1].trimmingCharacters(in: .whitespaces), forHTTPHeaderField: String(parts[0]))
    }
    if let form = values["-d"]?.joined(separator: "&") {
      request.httpMethod = "POST"
      request.httpBody = Data(form.utf8)
      if request.value(forHTTPHeaderField: "Content-Type") == nil {
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
      }
    }
    if let method = values["-X"]?.last { request.httpMethod = method }

    if isVerbose { policy.onEvent = { event in Console.note("\(event)") } }
    if let text = values["--max-retries"]?.last {
      guard let number = Int(text), number >= 0 else {
        throw WrongArguments(reason: "--max-retries needs a number from 0 up")
      }
      policy.maxRetries = number
    }
    if let text = values["--deadline"]?.last {
      guard let seconds = Double(text), seconds > 0, seconds < 1e9 else {
        throw WrongArguments(reason: "--deadline needs a number of seconds above 0")
      }
      policy.deadline = .seconds(seconds)
    }
  }
}
