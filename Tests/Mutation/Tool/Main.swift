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
      default: throw Problem(description: "unknown argument: \(word)")
      }
    }
    if places.isEmpty { places = Place.allCases }
  }

  /// False if a mistake was not noticed, or a row cannot be used.
  private func start() throws -> Bool {
    let runner = Runner(workspace: workspace, schemata: Schemata(sources: try workspace.sources()))
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
