import Foundation

// Mutation testing: each mutant is a small mistake that a maintainer could make. The tests must notice every one of them.
//
// A table in `mutants/` looks like this. The lines of a mutant are those of a diff: `- ` is replaced by `+ `, and two
// spaces stand before a line that stays. The text without the `+ ` lines must occur exactly once in the file; it may
// begin and end in the middle of a line.
//
//     ## A POST is repeated after a 503
//     RetryPolicy.swift: RetryPolicyTests RetryLoopTests
//     - [421, 425, 429].contains
//     + [421, 425, 429, 503].contains
//
// The suites behind the file's name run first. If they pass, the whole suite runs.

struct Mutant {
  /// What the maintainer got wrong.
  var name: String
  /// The name of the table it stands in.
  var table: String
  /// Relative to Sources/Wynd.
  var file: String
  var suites: [String]
  var original: String
  var replacement: String
}

struct TableError: Error, CustomStringConvertible {
  var description: String
}

func readTables(_ folder: URL) throws -> [Mutant] {
  let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".txt") }.sorted()
  return try names.flatMap { name in
    let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    return try text.components(separatedBy: "\n## ").dropFirst().map { try mutant($0, table: String(name.dropLast(4))) }
  }
}

private func mutant(_ section: String, table: String) throws -> Mutant {
  let lines = section.components(separatedBy: "\n")
  let place = lines.count > 2 ? lines[1].components(separatedBy: ":") : []
  let text = lines.dropFirst(2).filter { !$0.isEmpty }
  func side(_ mark: String) -> String {
    text.filter { $0.hasPrefix(mark) || $0.hasPrefix("  ") }.map { String($0.dropFirst(2)) }.joined(separator: "\n")
  }
  let suites = place.last?.split(separator: " ").map(String.init) ?? []
  let isWellFormed = text.allSatisfy { line in ["- ", "+ ", "  "].contains { line.hasPrefix($0) } }
  guard isWellFormed, place.count == 2, !suites.isEmpty, !side("- ").isEmpty else {
    throw TableError(description: "\(table).txt: not understood: \(section)")
  }
  return Mutant(
    name: lines[0], table: table, file: place[0], suites: suites, original: side("- "), replacement: side("+ "))
}
