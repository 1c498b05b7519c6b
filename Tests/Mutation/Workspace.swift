import Foundation

/// The copy in which the mutants live. It stays between runs, so that only what has changed is compiled.
struct Workspace {
  let root: URL
  let copy: URL
  private let manager = FileManager.default
  private var log: URL { root.appendingPathComponent(".build-mutation/output.txt") }

  /// `isInPlace`: the copy is the package itself, which is built already.
  init(_ root: URL, isInPlace: Bool) {
    self.root = root
    copy = isInPlace ? root : root.appendingPathComponent(".build-mutation")
  }

  var isInPlace: Bool { copy == root }

  /// Copies what differs and removes what is gone. A file that is equal keeps its date.
  func refresh() throws {
    if isInPlace { return }
    try manager.createDirectory(at: copy, withIntermediateDirectories: true)
    for item in ["Package.swift", "README.md", "Sources", "Tests"] {
      let known = Set(paths(in: copy, item)).subtracting(paths(in: root, item))
      for path in known { try? manager.removeItem(at: copy.appendingPathComponent(path)) }
      for path in paths(in: root, item) { try copyItem(path) }
    }
  }

  private func paths(in folder: URL, _ item: String) -> [String] {
    let inner = (try? manager.subpathsOfDirectory(atPath: folder.appendingPathComponent(item).path)) ?? []
    return [item] + inner.filter { !$0.hasPrefix(".build") }.map { "\(item)/\($0)" }
  }

  private func copyItem(_ path: String) throws {
    let (source, target) = (root.appendingPathComponent(path), copy.appendingPathComponent(path))
    switch try manager.attributesOfItem(atPath: source.path)[.type] as? FileAttributeType {
    case .typeDirectory: try manager.createDirectory(at: target, withIntermediateDirectories: true)
    case .typeSymbolicLink where (try? manager.destinationOfSymbolicLink(atPath: target.path)) != nil: break
    default:
      if manager.contentsEqual(atPath: source.path, andPath: target.path) { return }
      try? manager.removeItem(at: target)
      try manager.copyItem(at: source, to: target)
      try manager.setAttributes([.modificationDate: Date()], ofItemAtPath: target.path)
    }
  }

  func original(_ file: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent("Sources/Wynd/\(file)"), encoding: .utf8)
  }

  /// The file with the mistake; nil if the original text does not occur exactly once.
  func mutated(_ mutant: Mutant) -> String? {
    let parts = (try? original(mutant.file))?.components(separatedBy: mutant.original) ?? []
    return parts.count == 2 ? parts.joined(separator: mutant.replacement) : nil
  }

  func plant(_ text: String, in file: String) throws {
    try text.write(to: copy.appendingPathComponent("Sources/Wynd/\(file)"), atomically: false, encoding: .utf8)
  }

  struct Outcome {
    var output: String
    var status: Int32
    var isTimedOut: Bool
    var passed: Bool { status == 0 && !isTimedOut }
    /// The suites that failed, each once.
    var failedSuites: [String] {
      output.matches(of: /Suite "?([A-Za-z0-9_ ]+)"? failed/).map { String($0.1) }
        .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
    /// The suites that failed and the first failed test.
    var verdict: String {
      let test = output.firstMatch(of: /Test ([A-Za-z0-9_]+)\(.* (failed after|recorded an issue)/).map { String($0.1) }
      if isTimedOut { return "timed out" }
      return test == nil && failedSuites.isEmpty ? "crashed" : (failedSuites + [test ?? ""]).joined(separator: " ")
    }
  }

  /// `end`: what stands in the output when nothing more has to be seen.
  func run(_ command: [String], limit: TimeInterval, until end: String? = nil) throws -> Outcome {
    try Data().write(to: log)
    let handle = try FileHandle(forWritingTo: log)
    defer { try? handle.close() }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.currentDirectoryURL = copy
    (process.standardOutput, process.standardError) = (handle, handle)
    try process.run()
    let latest = Date(timeIntervalSinceNow: limit)
    var isSeen = false
    while process.isRunning, !isSeen, Date() < latest {
      Thread.sleep(forTimeInterval: 0.05)
      if let end { isSeen = try Data(contentsOf: log).range(of: Data(end.utf8)) != nil }
    }
    let isStopped = process.isRunning
    // Not waited for: that would be for its children too.
    if isStopped { kill(process.processIdentifier, SIGKILL) } else { process.waitUntilExit() }
    let output = String(decoding: try Data(contentsOf: log), as: UTF8.self)
    return Outcome(
      output: output, status: isStopped ? 1 : process.terminationStatus, isTimedOut: isStopped && !isSeen)
  }

  /// What the suites need; a whole run needs the command too.
  func build(_ product: String = "WyndPackageTests") throws -> Outcome {
    try run(["swift", "build", "--product", product], limit: 1800)
  }

  /// `isShort`: one failed check is enough; others may wait for what never comes.
  func test(_ suites: [String], limit: TimeInterval, isShort: Bool = false) throws -> Outcome {
    let filters = suites.flatMap { ["--filter", "[./]\($0)/"] }
    #if os(Linux)
      // As `swift test` starts it, which leaves it alone when it is ended itself.
      let command = [".build/debug/WyndPackageTests.xctest", "--testing-library", "swift-testing"]
    #else
      let command = ["swift", "test", "--skip-build"]
    #endif
    let outcome = try run(command + filters, limit: limit, until: isShort ? "recorded an issue" : nil)
    guard !outcome.output.contains("Test run with 0 tests") else {
      throw TableError(description: "no test in \(suites.joined(separator: ", "))")
    }
    return outcome
  }

  /// A failure counts only if its suite fails again: a machine under load may fail a test too.
  func testTwice(_ suites: [String] = [], limit: TimeInterval) throws -> Outcome {
    let first = try test(suites, limit: limit)
    if first.passed || first.isTimedOut || first.failedSuites.isEmpty { return first }
    return try test(first.failedSuites, limit: 120)
  }
}
