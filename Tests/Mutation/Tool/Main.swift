import Foundation

@main struct Main {
  static func main() {
    do { exit(try Main().start() ? 0 : 1) } catch {
      say("\(error)")
      exit(1)
    }
  }

  private var only: [String] = []
  private var places: [Place] = []
  private var sample: Int?
  private var seed = UInt64.random(in: 0..<1_000_000)
  private var isList = false
  private var generates = false
  private var isQuick = false
  private var base: String?
  private var files: [String] = []
  private let workspace: Workspace

  private init() throws {
    var words = CommandLine.arguments.dropFirst()
    guard let root = words.popFirst() else { throw Problem(description: "the folder of the repository is missing") }
    workspace = Workspace(URL(fileURLWithPath: root))
    func value(_ option: String) throws -> String {
      guard let word = words.popFirst() else { throw Problem(description: "\(option) needs a value") }
      return word
    }
    func number<Number: LosslessStringConvertible>(_ option: String) throws -> Number {
      guard let number = Number(try value(option)) else { throw Problem(description: "\(option) needs a number") }
      return number
    }
    while let word = words.popFirst() {
      switch word {
      case "--only": only.append(try value(word))
      case "--where":
        guard let place = Place(rawValue: try value(word)) else {
          throw Problem(description: "the places are \(Place.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        places.append(place)
      case "--sample": sample = try number(word)
      case "--seed": seed = try number(word)
      case "--list": isList = true
      case "--generate": generates = true
      case "--quick": isQuick = true
      case "--base": base = try value(word)
      default:
        guard generates, !word.hasPrefix("-") else { throw Problem(description: "unknown argument: \(word)") }
        files.append(word)
      }
    }
    if places.isEmpty { places = Place.allCases }
  }

  /// False if a mistake was not noticed, or a row cannot be used.
  private func start() throws -> Bool {
    let runner = Runner(workspace: workspace, schemata: Schemata(sources: try workspace.sources()))
    if generates { return try generate(runner) }
    var rows = try readTables(runner.tables).filter { row in
      let isNamed = only.isEmpty || only.contains { "\(row.table) \(row.name)".contains($0) }
      return isNamed && row.witnesses.contains { places.contains($0.place) }
    }
    if rows.isEmpty { throw Problem(description: "there is no such row") }
    if let sample, sample < rows.count {
      say("seed \(seed)")
      var generator = SeededGenerator(state: seed)
      let chosen = Set(rows.indices.shuffled(using: &generator).prefix(sample))
      rows = rows.indices.filter(chosen.contains).map { rows[$0] }
    }
    if isList { return try list(rows, runner) }

    let start = Date()
    let results = try runner.run(rows, at: places)
    let problems = results.filter { !$0.isNoticed }
    say("\n\(rows.count) rows, \(results.count) runs, \(problems.count) problems, \(runner.seconds(since: start))")
    for problem in problems { say("\(problem.text): \(problem.name)") }
    return problems.isEmpty
  }

  private func list(_ rows: [Row], _ runner: Runner) throws -> Bool {
    var problems: [String] = []
    let missing = try runner.missingSuites(rows.flatMap(\.witnesses))
    for row in rows {
      say("\(row.table): \(row.name) (\(row.witnesses.map(\.place.rawValue).joined(separator: ", ")))")
      do { _ = try runner.mistake(row) } catch { problems.append("\(row.table): \(row.name): \(error)") }
      for witness in row.witnesses {
        for suite in witness.suites where missing[witness.place]?.contains(suite) == true {
          problems.append("\(row.table): \(row.name): \(witness.place) has no suite \(suite)")
        }
      }
    }
    let counts = places.map { place in "\(rows.count { $0.witnesses.contains { $0.place == place } }) \(place)" }
    say("\(rows.count) rows: \(counts.joined(separator: ", "))")
    for problem in problems { say(problem) }
    return problems.isEmpty
  }

  // MARK: - Mistakes without a table

  /// Prints what no test notices. It is no check: some of these changes make no difference.
  private func generate(_ runner: Runner) throws -> Bool {
    let wanted = files.isEmpty ? try changedFiles() : files
    let sources = runner.schemata.sources.filter { source in
      wanted.contains { "\(workspace.library)/\(source.path)" == $0 || "/\(source.path)".hasSuffix("/\($0)") }
    }
    let mistakes = sources.flatMap(Generator.mistakes).filter(runner.schemata.canBeChosen)
    if mistakes.isEmpty { throw Problem(description: "there is nothing to change in \(wanted)") }
    guard let package = Place.linux.package else { return false }
    let start = Date()
    let built = try runner.build(package, mistakes)
    let suites = try suites(for: sources, runner)
    say("suites: \(suites.joined(separator: ", "))")
    try runner.checkUnchanged(package, isQuick ? suites : [])

    var unnoticed: [String] = []
    for mistake in built.compiled {
      var result = try runner.isNoticed(mistake, package, suites)
      if !result.isNoticed, !isQuick { result = try runner.isNoticed(mistake, package, []) }
      if !result.isNoticed { unnoticed.append(mistake.name) }
      say("\(result.isNoticed ? "noticed" : "NOT NOTICED") (\(result.text)): \(mistake.name)")
    }
    say("\n\(built.compiled.count) mistakes, \(unnoticed.count) not noticed, \(runner.seconds(since: start))")
    say("\(built.errors.count) more do not compile")
    for name in unnoticed { say(name) }
    return true
  }

  /// The suites of rows in the same files, and those named like the files.
  private func suites(for sources: [Source], _ runner: Runner) throws -> [String] {
    let paths = Set(sources.map(\.path))
    var suites: Set<String> = []
    for row in try readTables(runner.tables) {
      let edits = (try? runner.mistake(row))?.edits ?? []
      if !paths.isDisjoint(with: edits.map(\.file)) {
        suites.formUnion(row.witnesses.filter { [.linux, .simulation].contains($0.place) }.flatMap(\.suites))
      }
    }
    for path in paths {
      suites.insert(URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent + "Tests")
    }
    let known = try workspace.suites(of: .linux).union(try workspace.suites(of: .simulation))
    return suites.intersection(known).sorted()
  }

  /// Since `--base`, by default what is not committed, or the last commit.
  private func changedFiles() throws -> [String] {
    let root = workspace.root.path
    for revision in base.map({ [$0] }) ?? ["HEAD", "HEAD~1"] {
      let command = ["git", "-C", root, "diff", "--name-only", revision, "--", workspace.library]
      let files = try workspace.run(command, limit: 60).output.split(separator: "\n").map(String.init)
      if !files.isEmpty { return files }
    }
    return []
  }
}

/// The same choice for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }
}
