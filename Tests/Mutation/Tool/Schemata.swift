import Foundation
import SwiftParser
import SwiftSyntax

/// One mistake in one file: the text of a range is replaced.
struct Edit {
  var file: String
  var range: ByteRange
  var text: String
}

/// A mistake whose place in the sources is known.
struct Mistake {
  var name: String
  var number: UInt32
  var edits: [Edit]
}

/// The sources, with all mistakes in them. The environment chooses one when a process starts:
///
///     func limit() -> Int {
///       if WyndMistakes.active == 17 { return 5 }
///       return 4
///     }
///
/// so that the library and its tests are compiled once for all mistakes.
struct Schemata {
  var sources: [Source]

  static let variable = "WYND_MISTAKE"
  /// Public, because a default value of a public function uses it.
  static let switchFile = """
    import Foundation

    nonisolated public enum WyndMistakes {
      public static let active = UInt32(ProcessInfo.processInfo.environment["\(variable)"] ?? "") ?? 0
    }

    """

  /// Throws if a declaration or its text is not found exactly once.
  func mistake(_ row: Row) throws -> Mistake {
    Mistake(name: row.name, number: row.number, edits: try row.changes.map { try edit($0) })
  }

  private func edit(_ change: Change) throws -> Edit {
    let name = change.declaration ?? ""
    var found: [Edit] = []
    var isDeclared = false
    for source in sources {
      for declaration in source.declarations where [declaration.name, declaration.nameWithLabels].contains(name) {
        isDeclared = true
        for range in occurrences(of: change.old, in: declaration.tokens) {
          found.append(Self.reduced(Edit(file: source.path, range: range, text: change.new), in: source))
        }
      }
    }
    guard isDeclared else { throw Problem(description: "there is no declaration \(name)") }
    guard let edit = found.first, found.count == 1 else {
      let text = change.old.trimmingCharacters(in: .whitespacesAndNewlines)
      throw Problem(description: "found \(found.count) times in \(name): \(text)")
    }
    return edit
  }

  /// Without the tokens that are the same at both ends, which a row may have to be unique or to be easy to read.
  private static func reduced(_ edit: Edit, in source: Source) -> Edit {
    let old = tokens(of: source.text(edit.range))
    let new = tokens(of: edit.text)
    // One token stays, so that nothing is inserted where a space may be missing.
    let most = min(old.count - 1, new.count)
    let prefix = zip(old, new).prefix(most).prefix { $0.text == $1.text }.count
    let suffix = zip(old.reversed(), new.reversed()).prefix(most - prefix).prefix { $0.text == $1.text }.count
    let oldTokens = old.dropFirst(prefix).dropLast(suffix)
    guard let first = oldTokens.first, let last = oldTokens.last else { return edit }
    // With the space around the new tokens.
    let bytes = Array(edit.text.utf8)
    let start = prefix > 0 ? new[prefix - 1].range.upperBound : 0
    let end = suffix > 0 ? new[new.count - suffix].range.lowerBound : bytes.count
    let base = edit.range.lowerBound
    return Edit(
      file: edit.file, range: base + first.range.lowerBound..<base + last.range.upperBound,
      text: String(decoding: bytes[start..<end], as: UTF8.self))
  }

  /// True if each of its edits is in a body or a value, so that it can be chosen at run time.
  func canBeChosen(_ mistake: Mistake) -> Bool { mistake.edits.allSatisfy { part(of: $0) != nil } }

  private func part(of edit: Edit) -> Source.Part? {
    let declarations = sources.first { $0.path == edit.file }?.declarations ?? []
    return declarations.lazy.flatMap(\.parts).first {
      $0.range.lowerBound <= edit.range.lowerBound && edit.range.upperBound <= $0.range.upperBound
    }
  }

  /// The text of the file with all mistakes that are in it.
  func text(of source: Source, with mistakes: [Mistake]) -> String {
    var parts: [Source.Part: [(number: UInt32, edits: [Edit])]] = [:]
    for mistake in mistakes {
      let edits = mistake.edits.filter { $0.file == source.path }
      for (part, edits) in Dictionary(grouping: edits, by: { self.part(of: $0) }) {
        if let part { parts[part, default: []].append((mistake.number, edits)) }
      }
    }
    var result = ""
    var position = 0
    for (part, variants) in parts.sorted(by: { $0.key.range.lowerBound < $1.key.range.lowerBound }) {
      result += source.text(position..<part.range.lowerBound)
      let original = source.text(part.range)
      let texts = variants.map { ($0.number, Self.replace($0.edits, in: part, of: source)) }
      switch part.kind {
      case .value: result += Self.value(original, texts)
      case .body(let isVoid): result += Self.body(original, texts, isVoid: isVoid)
      }
      position = part.range.upperBound
    }
    return result + source.text(position..<source.bytes.count)
  }

  /// The whole file with one mistake in place of the original text.
  func text(of source: Source, replacing edits: [Edit]) -> String {
    let whole = Source.Part(kind: .value, range: 0..<source.bytes.count)
    return Self.replace(edits.filter { $0.file == source.path }, in: whole, of: source)
  }

  private static func replace(_ edits: [Edit], in part: Source.Part, of source: Source) -> String {
    var result = ""
    var position = part.range.lowerBound
    for edit in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      result += source.text(position..<edit.range.lowerBound) + edit.text
      position = edit.range.upperBound
    }
    return result + source.text(position..<part.range.upperBound)
  }

  /// The compiler reports errors in the mistake's own file, so that they can be attributed.
  private static func marked(_ number: UInt32, _ text: String) -> String {
    "\n#sourceLocation(file: \"mistake-\(number).swift\", line: 1)\n\(text)\n#sourceLocation()\n"
  }

  private static func value(_ original: String, _ variants: [(UInt32, String)]) -> String {
    variants.reduce("(\(original))") { rest, variant in
      "(WyndMistakes.active == \(variant.0) ? (\(variant.1)) : \(rest))"
    }
  }

  private static func body(_ original: String, _ variants: [(UInt32, String)], isVoid: Bool) -> String {
    let choices = variants.map { number, text in
      let statements = isVoid ? text + "\nreturn" : explicitReturn(text)
      return "\nif WyndMistakes.active == \(number) {\(marked(number, statements))}"
    }
    return choices.joined() + "\n" + (isVoid ? original : explicitReturn(original))
  }

  /// A single expression is returned without `return` only as long as it is alone in its body.
  static func explicitReturn(_ body: String) -> String {
    let file = Parser.parse(source: "func f() -> T {" + body + "\n}")
    guard let items = file.statements.first?.item.as(FunctionDeclSyntax.self)?.body?.statements, items.count == 1,
      let item = items.first?.item, returnsValue(item)
    else { return body }
    let prefix = "func f() -> T {".utf8.count
    var bytes = Array(body.utf8)
    bytes.insert(contentsOf: "return ".utf8, at: item.positionAfterSkippingLeadingTrivia.utf8Offset - prefix)
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func returnsValue(_ item: CodeBlockItemSyntax.Item) -> Bool {
    if let statement = item.as(ExpressionStmtSyntax.self) {
      // An `if` or `switch` is a value unless its branches return.
      let finder = ReturnFinder(viewMode: .sourceAccurate)
      finder.walk(statement)
      return !finder.hasReturn
    }
    return item.is(ExprSyntax.self)
  }
}

private final class ReturnFinder: SyntaxVisitor {
  var hasReturn = false

  override func visit(_ node: ReturnStmtSyntax) -> SyntaxVisitorContinueKind {
    hasReturn = true
    return .skipChildren
  }
  override func visit(_ node: ClosureExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
}
