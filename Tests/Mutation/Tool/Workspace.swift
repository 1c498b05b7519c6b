import Foundation

/// A package in which tests run, in the copy of the repository.
struct TestPackage: Hashable {
  /// Relative to the copy.
  var folder: String
  var scratch: String
  var name: String
  /// A command that makes the package.
  var preparation: [String] = []
}

extension Place {
  /// nil for the type check, which runs no test.
  var package: TestPackage? {
    switch self {
    case .linux, .simulation: TestPackage(folder: ".", scratch: ".build", name: "Wynd")
    case .model:
      TestPackage(
        folder: ".build-apple/package", scratch: ".build-apple/build", name: "AppleModel",
        preparation: ["Tests/AppleModel/check", "--prepare"])
    case .typecheck: nil
    }
  }

  /// Where the suites are, relative to the repository.
  var testFolders: [String] {
    switch self {
    case .linux: ["Tests/WyndTests"]
    case .simulation: ["Tests/SimulationTests"]
    case .model: ["Tests/WyndTests", "Tests/AppleModel/AppleTests"]
    case .typecheck: []
    }
  }
}

/// The copy of the repository with the mistakes in it. It stays between runs, so that only what differs is compiled.
struct Workspace {
  let root: URL
  let copy: URL
  let library = "Sources/Wynd"
  private let manager = FileManager.default

  init(_ root: URL) {
    self.root = root
    copy = root.appendingPathComponent(".build-mutation/copy")
  }

  /// The Swift files of the library, relative to its folder.
  func sources() throws -> [Source] {
    let folder = root.appendingPathComponent(library)
    return try paths(in: folder).filter { $0.hasSuffix(".swift") }.map { path in
      Source(path: path, text: try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8))
    }
  }

  /// The names of the types in the tests, of which some are suites.
  func suites(of place: Place) throws -> Set<String> {
    var names: Set<String> = []
    for folder in place.testFolders.map({ root.appendingPathComponent($0) }) {
      for path in paths(in: folder) where path.hasSuffix(".swift") {
        let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
        names.formUnion(
          text.matches(of: /\b(?:struct|class|enum|actor|extension) ([A-Za-z0-9_]+)/).map { String($0.1) })
      }
    }
    return names
  }

  // MARK: - The copy

  /// Copies what differs, and removes what is gone. A file that is equal keeps its date.
  func fill(_ schemata: Schemata, with mistakes: [Mistake]) throws {
    var texts = ["\(library)/WyndMistakes.swift": Schemata.switchFile]
    for source in schemata.sources {
      texts["\(library)/\(source.path)"] = schemata.text(of: source, with: mistakes)
    }
    try texts.merge(testsWithoutMacros()) { $1 }
    for item in ["Package.swift", "README.md", "Sources", "Tests"] {
      let wanted = [item] + paths(in: root.appendingPathComponent(item)).map { "\(item)/\($0)" }
      let present = paths(in: copy.appendingPathComponent(item)).map { "\(item)/\($0)" }
      for path in Set(present).subtracting(wanted) where texts[path] == nil {
        try? manager.removeItem(at: copy.appendingPathComponent(path))
      }
      for path in wanted where texts[path] == nil { try copyItem(path) }
    }
    for (path, text) in texts { try write(Data(text.utf8), to: path) }
  }

  /// The tests with a function in place of `#expect`, which takes a quarter of the time to compile.
  private func testsWithoutMacros() throws -> [String: String] {
    let expect = "Tests/AppleModel/AppleTests/Expect.swift"
    var texts = ["Tests/WyndTests/Expect.swift": try text(of: expect)]
    for path in paths(in: root.appendingPathComponent("Tests/WyndTests")) where path.hasSuffix(".swift") {
      let path = "Tests/WyndTests/\(path)"
      // Not `#expect(throws:)`.
      texts[path] = try text(of: path).replacing(/#expect\((?!throws)/, with: "expect(")
    }
    return texts
  }

  private func text(of path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  private func paths(in folder: URL) -> [String] {
    let all = (try? manager.subpathsOfDirectory(atPath: folder.path)) ?? []
    return all.filter { !$0.contains(".build") }.sorted()
  }

  private func copyItem(_ path: String) throws {
    let source = root.appendingPathComponent(path)
    let target = copy.appendingPathComponent(path)
    switch try manager.attributesOfItem(atPath: source.path)[.type] as? FileAttributeType {
    case .typeDirectory:
      try manager.createDirectory(at: target, withIntermediateDirectories: true)
    case .typeSymbolicLink:
      if (try? manager.destinationOfSymbolicLink(atPath: target.path)) == nil {
        try manager.copyItem(at: source, to: target)
      }
    default:
      try write(Data(contentsOf: source), to: path)
      let mode = try manager.attributesOfItem(atPath: source.path)[.posixPermissions] ?? 0o644
      try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: target.path)
    }
  }

  private func write(_ data: Data, to path: String) throws {
    let target = copy.appendingPathComponent(path)
    if (try? Data(contentsOf: target)) == data { return }
    try manager.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: target)
  }

  // MARK: - Commands

  /// Compiles the package with its tests.
  func build(_ package: TestPackage) throws -> Outcome {
    if !package.preparation.isEmpty {
      let prepared = try run(package.preparation, limit: 600)
      if !prepared.passed { return prepared }
    }
    let command = [
      "swift", "build", "--build-tests", "--package-path", package.folder, "--scratch-path", package.scratch,
    ]
    return try run(command + ["-debug-info-format", "none"], limit: 3600)
  }

  /// Runs the suites, or all tests if none is named. `end` is a text after which nothing more has to be known.
  func test(
    _ package: TestPackage, _ suites: [String], mistake: UInt32 = 0, limit: TimeInterval, until end: String? = nil
  ) throws -> Outcome {
    #if os(Linux)
      // As `swift test` starts it, but without a process in between, which would survive the end of this one.
      let program = copy.appendingPathComponent("\(package.scratch)/debug/\(package.name)PackageTests.xctest").path
      let command = [program, "--testing-library", "swift-testing"]
    #else
      let command = [
        "swift", "test", "--skip-build", "--package-path", package.folder, "--scratch-path", package.scratch,
      ]
    #endif
    let filters = suites.flatMap { ["--filter", "[./]\($0)/"] }
    return try run(
      command + filters, limit: limit, until: end, folder: package.folder,
      environment: [Schemata.variable: "\(mistake)", "SWIFT_BACKTRACE": "enable=no"])
  }

  struct Outcome {
    var output: String
    var passed: Bool
    var isTimedOut: Bool

    var hasRunNoTest: Bool { output.contains("Test run with 0 tests") }

    /// The first test that failed, or what else happened.
    var summary: String {
      if isTimedOut { return "timed out" }
      let test = output.firstMatch(of: /Test "?([^\n]*?)"?(\(.*\))? (failed after|recorded an issue)/)
      return test.map { String($0.1) } ?? (passed ? "passed" : "crashed")
    }

    /// The suites that failed, each once.
    var failedSuites: [String] {
      Set(output.matches(of: /Suite "?([A-Za-z0-9_]+)"? failed/).map { String($0.1) }).sorted()
    }

    func lastLines(_ count: Int) -> String { output.split(separator: "\n").suffix(count).joined(separator: "\n") }
  }

  func run(
    _ command: [String], limit: TimeInterval, until end: String? = nil, folder: String = ".",
    environment: [String: String] = [:]
  ) throws -> Outcome {
    let log = root.appendingPathComponent(".build-mutation/output.txt")
    try Data().write(to: log)
    let handle = try FileHandle(forWritingTo: log)
    defer { try? handle.close() }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.currentDirectoryURL = copy.appendingPathComponent(folder)
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = handle
    process.standardError = handle
    try process.run()
    let latest = Date(timeIntervalSinceNow: limit)
    var isSeen = false
    while process.isRunning, !isSeen, Date() < latest {
      Thread.sleep(forTimeInterval: 0.02)
      if let end { isSeen = try Data(contentsOf: log).range(of: Data(end.utf8)) != nil }
    }
    let isStopped = process.isRunning
    // A process that is killed is not waited for: that would be for its children too.
    if isStopped { kill(process.processIdentifier, SIGKILL) } else { process.waitUntilExit() }
    let output = String(decoding: try Data(contentsOf: log), as: UTF8.self)
    let passed = !isStopped && process.terminationStatus == 0
    return Outcome(output: output, passed: passed, isTimedOut: isStopped && !isSeen)
  }
}
