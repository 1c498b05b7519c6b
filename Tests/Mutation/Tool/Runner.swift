import Foundation

/// Builds the mistakes into a copy of the sources, and runs the tests once for each.
struct Runner {
  let workspace: Workspace
  let schemata: Schemata

  struct Result {
    var name: String
    var isNoticed: Bool
    var text: String
  }

  /// Compiles the copy without the mistakes that do not compile, and tells which those are.
  func build(_ package: TestPackage, _ mistakes: [Mistake]) throws -> (compiled: [Mistake], errors: [UInt32: String]) {
    var compiled = mistakes
    var errors: [UInt32: String] = [:]
    let start = Date()
    while true {
      try workspace.fill(schemata, with: compiled)
      let outcome = try workspace.build(package)
      if outcome.passed { break }
      let found = try culprits(of: outcome.output, compiled)
      errors.merge(found) { first, _ in first }
      compiled.removeAll { found.keys.contains($0.number) }
      if found.isEmpty {
        let lines = outcome.output.split(separator: "\n").filter { $0.contains("error:") }.prefix(5)
        throw Problem(
          description: "the copy does not compile:\n\(lines.joined(separator: "\n"))\n\(outcome.lastLines(5))")
      }
    }
    say("\(package.name) is built with \(compiled.count) mistakes (\(seconds(since: start)))")
    return (compiled, errors)
  }

  private func culprits(of output: String, _ mistakes: [Mistake]) throws -> [UInt32: String] {
    var found: [UInt32: String] = [:]
    for match in output.matches(of: /mistake-(\d+)\.swift:\d+:\d+: error: (.*)/) {
      guard let number = UInt32(match.1), found[number] == nil else { continue }
      found[number] = String(match.2)
    }
    if !found.isEmpty { return found }
    // A value has no file of its own: the mistake is the one that begins at the line of the error or before it.
    for match in output.matches(of: /([^\s:]+\.swift):(\d+):\d+: error: (.*)/) {
      guard let text = try? String(contentsOfFile: String(match.1), encoding: .utf8), let line = Int(match.2) else {
        continue
      }
      let before = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(line).joined(separator: "\n")
      if let last = before.matches(of: /WyndMistakes\.active == (\d+) \?/).last, let number = UInt32(last.1),
        mistakes.contains(where: { $0.number == number })
      {
        found[number] = String(match.3)
      }
    }
    return found
  }

  /// The suites must pass without a mistake. One that fails is run once more, because it may depend on time.
  ///
  /// - Returns: The seconds that the suites of a row have with a mistake, some of which are waited for in vain: much more
  ///   than all suites together take without one, so that a busy machine is not taken for a test that notices.
  func checkUnchanged(_ package: TestPackage, _ suites: [String]) throws -> TimeInterval {
    let start = Date()
    let first = try workspace.test(package, suites, limit: 900)
    if first.hasRunNoTest { throw Problem(description: "no test is found in \(suites.joined(separator: ", "))") }
    if !first.passed {
      let again = first.failedSuites.isEmpty ? suites : first.failedSuites
      let second = try workspace.test(package, again, limit: 600)
      guard second.passed else {
        throw Problem(description: "the tests fail without a mistake: \(second.summary)\n\(second.lastLines(20))")
      }
    }
    say("\(package.name): the suites pass without a mistake (\(seconds(since: start)))")
    return max(30, 30 - 2 * start.timeIntervalSinceNow)
  }

  /// Runs the suites. One check that fails is enough: others may wait for what never happens.
  func isNoticed(
    _ mistake: Mistake, _ package: TestPackage, _ suites: [String], limit: TimeInterval, text: String? = nil
  ) throws -> Result {
    let start = Date()
    let end = text ?? "recorded an issue"
    let outcome = try workspace.test(package, suites, mistake: mistake.number, limit: limit, until: end)
    if outcome.hasRunNoTest {
      return Result(name: mistake.name, isNoticed: false, text: "NO TEST IN \(suites.joined(separator: " "))")
    }
    let isRight = text.map { outcome.output.contains($0) } ?? true
    let isNoticed = !outcome.passed && isRight
    let summary = isRight ? outcome.summary : "NOTICED FOR ANOTHER REASON: \(outcome.summary)"
    let verdict = outcome.passed ? "NOT NOTICED" : summary
    return Result(name: mistake.name, isNoticed: isNoticed, text: "\(verdict), \(seconds(since: start))")
  }

  // MARK: - The rows

  func run(_ rows: [Row], at places: [Place]) throws -> [Result] {
    var results: [Result] = []
    var mistakes: [UInt32: Mistake] = [:]
    for row in rows {
      do { mistakes[row.number] = try mistake(row) } catch {
        results.append(report(Result(name: row.name, isNoticed: false, text: "STALE: \(error)")))
      }
    }
    for package in Set(places.compactMap(\.package)).sorted(by: { $0.name > $1.name }) {
      let here = places.filter { $0.package == package }
      let jobs = rows.flatMap { row in row.witnesses.filter { here.contains($0.place) }.map { (row, $0) } }
      if jobs.isEmpty { continue }
      let chosen = jobs.compactMap { mistakes[$0.0.number] }
      // All, so that the next run compiles nothing again.
      let others = try readTables(tables).filter { $0.witnesses.contains { $0.place.package == package } }
      let all = Dictionary(grouping: chosen + others.compactMap { try? mistake($0) }, by: \.number).compactMap(
        \.value.first)
      let built = try build(package, all.sorted { $0.number < $1.number })
      let missing = try missingSuites(jobs.map(\.1)).values.reduce(into: Set()) { $0.formUnion($1) }
      let limit = try checkUnchanged(package, Set(jobs.flatMap(\.1.suites)).subtracting(missing).sorted())
      for (row, witness) in jobs {
        guard let mistake = mistakes[row.number] else { continue }
        if let error = built.errors[row.number] {
          results.append(report(Result(name: row.name, isNoticed: false, text: "DOES NOT COMPILE: \(error)")))
        } else {
          let result = try isNoticed(mistake, package, witness.suites, limit: limit, text: witness.text)
          results.append(report(result, witness.place))
        }
      }
    }
    if places.contains(.typecheck) { results += try typecheck(rows) }
    return results
  }

  var tables: URL { workspace.root.appendingPathComponent("Tests/Mutation/mistakes") }

  /// A row that can be chosen at run time, or one of the type check, for which it need not be.
  func mistake(_ row: Row) throws -> Mistake {
    if row.changes.contains(where: { $0.declaration == nil }) { return Mistake(name: row.name, number: 0, edits: []) }
    let mistake = try schemata.mistake(row)
    guard schemata.canBeChosen(mistake) || row.witnesses.allSatisfy({ $0.place == .typecheck }) else {
      throw Problem(description: "the change is not in a body or a value")
    }
    return mistake
  }

  /// For each place the suites that it does not have.
  func missingSuites(_ witnesses: [Witness]) throws -> [Place: Set<String>] {
    try Dictionary(grouping: witnesses, by: \.place).reduce(into: [:]) { missing, group in
      missing[group.key] = Set(group.value.flatMap(\.suites)).subtracting(try workspace.suites(of: group.key))
    }
  }

  private func report(_ result: Result, _ place: Place? = nil) -> Result {
    say("\(result.isNoticed ? "noticed" : "PROBLEM") (\(place.map { "\($0): " } ?? "")\(result.text)): \(result.name)")
    return result
  }

  // MARK: - The type check

  /// Each row is compiled on its own, in a copy of the sources as they are.
  private func typecheck(_ rows: [Row]) throws -> [Result] {
    let checks = rows.flatMap { row in row.witnesses.filter { $0.place == .typecheck }.map { (row, $0) } }
    if checks.isEmpty { return [] }
    let folder = workspace.root.appendingPathComponent(".build-mutation/typecheck")
    let manager = FileManager.default
    try? manager.removeItem(at: folder)
    try manager.createDirectory(at: workspace.copy, withIntermediateDirectories: true)
    try manager.copyItem(at: workspace.root.appendingPathComponent(workspace.library), to: folder)
    let unchanged = try runCheck(folder)
    guard unchanged.passed else {
      throw Problem(description: "the sources do not pass the type check:\n\(unchanged.output)")
    }
    return try checks.compactMap { row, witness in
      var texts: [(path: String, text: String)] = []
      for change in row.changes where change.declaration == nil { texts.append(("WyndPlanted.swift", change.new)) }
      // It has been reported.
      guard let mistake = try? mistake(row) else { return nil }
      for source in schemata.sources where mistake.edits.contains(where: { $0.file == source.path }) {
        texts.append((source.path, schemata.text(of: source, replacing: mistake.edits)))
      }
      for (path, text) in texts { try Data(text.utf8).write(to: folder.appendingPathComponent(path)) }
      let outcome = try runCheck(folder)
      for (path, _) in texts {
        let original = schemata.sources.first { $0.path == path }
        let place = folder.appendingPathComponent(path)
        if let original { try Data(original.bytes).write(to: place) } else { try manager.removeItem(at: place) }
      }
      let expected = witness.text ?? ""
      let isRight = outcome.output.contains(expected)
      let errors = outcome.output.split(separator: "\n").first { $0.contains("error:") } ?? ""
      let text = outcome.passed ? "NOT NOTICED" : isRight ? expected : "NOTICED FOR ANOTHER REASON: \(errors)"
      return report(Result(name: row.name, isNoticed: !outcome.passed && isRight, text: text), .typecheck)
    }
  }

  private func runCheck(_ folder: URL) throws -> Workspace.Outcome {
    let check = workspace.root.appendingPathComponent("Tests/AppleCheck/check").path
    let modules = workspace.root.appendingPathComponent(".build/apple-check").path
    let environment =
      ProcessInfo.processInfo.environment["APPLE_CHECK_MODULES"] == nil ? ["APPLE_CHECK_MODULES": modules] : [:]
    return try workspace.run([check, folder.path], limit: 600, environment: environment)
  }

  func seconds(since date: Date) -> String { "\(Int(Date().timeIntervalSince(date).rounded())) s" }
}
