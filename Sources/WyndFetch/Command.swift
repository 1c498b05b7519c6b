/// `wynd-fetch`: the demonstration without arguments, otherwise one request to a URL.
enum Command {
  static let usage = """
    usage: wynd-fetch       watch a request survive a misbehaving server
           wynd-fetch URL [-o FILE] [-X METHOD] [-H 'Name: value'] [-d DATA] [-v] [--max-retries N] [--deadline SECONDS]

    The URL has its scheme, such as https://example.com. The body of the response goes to standard output, or
    with -o to FILE once it is complete; the same command resumes an interrupted download. -d sends a form, by
    POST unless -X names a method. -v prints every attempt, failure and wait. The exit code is 1 if the call
    fails or is interrupted, and 2 if the arguments are wrong.
    """

  /// Returns the exit code.
  static func run(_ arguments: [String]) async -> Int32 {
    if arguments.isEmpty { return await Demonstration.run() }
    if let first = arguments.first, ["--help", "-h"].contains(first) {
      Console.say(usage)
      return 0
    }
    do {
      return try await Fetch(arguments).run()
    } catch {
      Console.note("\(error.reason)\n\(usage)")
      return 2
    }
  }
}
