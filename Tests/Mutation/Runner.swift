import Foundation

@main struct Runner {
  static func main() {
    do { exit(try start(CommandLine.arguments.dropFirst()) ? 0 : 1) } catch {
      print(error)
      exit(1)
    }
  }

  private static func start(_ arguments: ArraySlice<String>) throws -> Bool {
    var words = arguments
    guard let path = words.popFirst() else { return false }
    var (only, sample, seed) = ([String](), Int?.none, UInt64.random(in: 0..<1_000_000))
    var (isQuick, isList, isInPlace) = (false, false, false)
    while let word = words.popFirst() {
      switch word {
      case "--only": only += words.popFirst().map { [$0] } ?? []
      case "--sample": sample = words.popFirst().flatMap { Int($0) }
      case "--seed": seed = words.popFirst().flatMap { UInt64($0) } ?? seed
      case "--quick": isQuick = true
      case "--list": isList = true
      case "--in-place": isInPlace = true
      default: throw TableError(description: "unknown argument: \(word)")
      }
    }

    let workspace = Workspace(URL(fileURLWithPath: path), isInPlace: isInPlace)
    var mutants = try readTables(workspace.root.appendingPathComponent("Tests/Mutation/mutants"))
    if !only.isEmpty {
      mutants = mutants.filter { mutant in
        only.contains { "\(mutant.table)/\(mutant.file) \(mutant.name)".contains($0) }
      }
    }
    // Without any, the whole suite would be asked, and nothing learned.
    if mutants.isEmpty { throw TableError(description: "no mutant is called that") }
    let outdated = mutants.filter { workspace.mutated($0) == nil }
    for mutant in outdated { print("not found exactly once in \(mutant.file): the text of “\(mutant.name)”") }
    if let sample, sample < mutants.count {
      print("seed \(seed)")
      var generator = SeededGenerator(state: seed)
      let chosen = Set(mutants.indices.shuffled(using: &generator).prefix(sample))
      mutants = mutants.indices.filter(chosen.contains).map { mutants[$0] }
    }
    if isList {
      for mutant in mutants { print("\(mutant.file): \(mutant.name)") }
      print("\(mutants.count) mutants")
    }
    if !outdated.isEmpty || isList || sample == 0 { return outdated.isEmpty }
    return try Runner(workspace: workspace, mutants: mutants, isQuick: isQuick).run()
  }

  let workspace: Workspace
  let mutants: [Mutant]
  /// Only the suites behind the file's name run, never all.
  let isQuick: Bool

  /// False if a mutant survived, or did not compile.
  func run() throws -> Bool {
    let start = Date()
    try workspace.refresh()
    let build = try workspace.build()
    guard build.passed else { throw TableError(description: "the sources do not compile:\n\(build.output)") }
    // Tests of several suites start it.
    _ = try workspace.build("wynd-fetch")
    try checkSuites()
    // In place they have just passed.
    if !workspace.isInPlace { try checkUnchanged() }

    var counts: [String: (killed: Int, all: Int)] = [:]
    var problems: [String] = []
    for mutant in mutants {
      let began = Date()
      let (isKilled, verdict) = try result(of: mutant)
      print(
        "\(isKilled ? "killed" : "NOT KILLED") (\(verdict), \(seconds(since: began))): \(mutant.file): \(mutant.name)")
      fflush(nil)
      if !isKilled { problems.append("\(verdict): \(mutant.file): \(mutant.name)") }
      counts[mutant.table, default: (0, 0)].killed += isKilled ? 1 : 0
      counts[mutant.table, default: (0, 0)].all += 1
    }
    print()
    for (table, count) in counts.sorted(by: { $0.key < $1.key }) {
      print("\(table): \(count.killed) of \(count.all) killed")
    }
    print("all: \(mutants.count - problems.count) of \(mutants.count) killed, \(seconds(since: start))")
    for problem in problems { print(problem) }
    return problems.isEmpty
  }

  private func result(of mutant: Mutant) throws -> (isKilled: Bool, verdict: String) {
    guard let text = workspace.mutated(mutant) else { return (false, "text not found") }
    let original = try workspace.original(mutant.file)
    try workspace.plant(text, in: mutant.file)
    defer { try? workspace.plant(original, in: mutant.file) }
    let build = try workspace.build()
    guard build.passed else {
      let error = build.output.split(separator: "\n").first { $0.contains("error:") } ?? "no error given"
      return (false, "DOES NOT COMPILE: \(error)")
    }
    let named = try workspace.test(mutant.suites, limit: 30, isShort: true)
    if !named.passed { return (true, named.verdict) }
    if isQuick { return (false, "NOT BY ITS SUITES") }
    _ = try workspace.build("wynd-fetch")
    defer {
      // The next mutant is not to be asked for this mistake.
      try? workspace.plant(original, in: mutant.file)
      _ = try? workspace.build("wynd-fetch")
    }
    let all = try workspace.testTwice(limit: 300)
    return all.passed ? (false, "SURVIVED") : (true, "whole suite: \(all.verdict)")
  }

  /// A name that is no suite would let a mutant survive its first test, and cost time.
  private func checkSuites() throws {
    let list = try workspace.run(["swift", "test", "list", "--skip-build"], limit: 120).output
    for name in Set(mutants.flatMap(\.suites)).sorted() where !list.contains("\(name)/") {
      throw TableError(description: "there is no suite \(name)")
    }
  }

  /// Without a mistake the suites that are asked must pass.
  private func checkUnchanged() throws {
    let began = Date()
    let unchanged = try workspace.testTwice(Set(mutants.flatMap(\.suites)).sorted(), limit: 600)
    guard unchanged.passed else {
      throw TableError(description: "the tests fail without a mistake: \(unchanged.verdict)\n\(unchanged.output)")
    }
    print("the suites pass without a mistake (\(seconds(since: began)))")
    fflush(nil)
  }

  private func seconds(since date: Date) -> String { "\(Int(Date().timeIntervalSince(date).rounded())) s" }
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
