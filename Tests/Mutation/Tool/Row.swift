import Foundation

// A row of the tables in `mistakes/` looks like this:
//
//     ## A POST is repeated after a 503
//     NetworkErrorMeaning.of
//     - case 502, 503, 504, 529: Self(busy, .mayHelp)
//     + case 502, 503, 504, 529: Self(busy, .mayHelp, .refused)
//     linux: RetryPolicyTests
//     simulation: RandomCallsTests (nothingUnsafeIsSentTwice)
//
// The second line names a declaration, with its types in front of it; `name(label:)` chooses one of several overloads.
// The lines after `- ` must occur exactly once in it. They are compared token by token, so that line breaks, spaces and
// comments do not matter. The lines after `+ ` replace them; without any, they are removed. There may be several such
// changes, and another declaration before each. Then follow the places where the mistake must be noticed, and the
// suites that must notice it there. A text in parentheses must occur in what they print.
//
// A row of the type check may have lines after `+ ` only: they are added to the sources as a file.

/// Where a mistake must be noticed.
enum Place: String, CaseIterable {
  /// The tests of the package.
  case linux
  /// The model of Apple's URLSession.
  case model
  /// The type check for Apple's platforms.
  case typecheck
  /// The tests in simulated time.
  case simulation
}

/// One replacement in one declaration.
struct Change {
  /// nil: `new` is a file that is added.
  var declaration: String?
  var old = ""
  var new = ""
}

/// Who must notice a mistake.
struct Witness {
  var place: Place
  /// For the type check, the text that the compiler must print.
  var suites: [String]
  /// What must occur in the output.
  var text: String?
}

struct Row {
  /// What goes wrong for a user.
  var name: String
  /// The table it is in.
  var table: String
  var changes: [Change]
  var witnesses: [Witness]

  /// The same in each run, so that only files with new rows are compiled again.
  var number: UInt32 { name.utf8.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 } }
}

struct Problem: Error, CustomStringConvertible {
  var description: String
}

func readTables(_ folder: URL) throws -> [Row] {
  let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".txt") }.sorted()
  var rows: [Row] = []
  for file in files {
    let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
    for section in ("\n" + text).components(separatedBy: "\n## ").dropFirst() {
      rows.append(try row(section.components(separatedBy: "\n"), table: String(file.dropLast(4))))
    }
  }
  for (name, same) in Dictionary(grouping: rows, by: \.name) where same.count > 1 {
    throw Problem(description: "\(same.count) rows are called “\(name)”")
  }
  return rows
}

private func row(_ lines: [String], table: String) throws -> Row {
  var row = Row(name: lines[0], table: table, changes: [], witnesses: [])
  var declaration: String?
  var isInChange = false
  var hasReplacement = false
  for line in lines.dropFirst() where !line.isEmpty {
    if line.hasPrefix("- ") {
      if !isInChange || hasReplacement { row.changes.append(Change(declaration: declaration)) }
      hasReplacement = false
      row.changes[row.changes.count - 1].old += line.dropFirst(2) + "\n"
    } else if line.hasPrefix("+ ") {
      if !isInChange { row.changes.append(Change(declaration: nil)) }
      hasReplacement = true
      row.changes[row.changes.count - 1].new += line.dropFirst(2) + "\n"
    } else if let witness = witness(line) {
      row.witnesses.append(witness)
    } else {
      declaration = line
    }
    isInChange = line.hasPrefix("- ") || line.hasPrefix("+ ")
  }
  let hasDeclarations = row.changes.allSatisfy { ($0.declaration == nil) == $0.old.isEmpty }
  let isAddition = row.changes.contains { $0.declaration == nil }
  let isForTypecheck = row.witnesses.allSatisfy { $0.place == .typecheck }
  guard hasDeclarations, !row.changes.isEmpty, !row.witnesses.isEmpty, !isAddition || isForTypecheck else {
    throw Problem(description: "\(table).txt: the row “\(row.name)” has no declaration, no change or no place")
  }
  return row
}

/// `linux: SomeTests OtherTests (text)`
private func witness(_ line: String) -> Witness? {
  guard let colon = line.firstIndex(of: ":"), let place = Place(rawValue: String(line[..<colon])) else { return nil }
  let rest = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
  if place == .typecheck { return Witness(place: place, suites: [], text: rest) }
  let parts = rest.split(separator: "(", maxSplits: 1)
  let suites = parts.first?.split(separator: " ").map(String.init) ?? []
  return Witness(place: place, suites: suites, text: parts.count > 1 ? String(parts[1].dropLast()) : nil)
}

/// Prints at once, also into a file.
func say(_ text: String) {
  print(text)
  fflush(nil)
}
