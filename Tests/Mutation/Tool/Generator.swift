import Foundation
import SwiftParser
import SwiftSyntax

/// Makes mistakes that need no table: conditions are negated, statements dropped, boundaries shifted.
final class Generator: SyntaxVisitor {
  private let source: Source
  private let converter: SourceLocationConverter
  private var mistakes: [Mistake] = []

  static func mistakes(in source: Source) -> [Mistake] {
    let tree = Parser.parse(source: source.text(0..<source.bytes.count))
    let generator = Generator(source, SourceLocationConverter(fileName: source.path, tree: tree))
    generator.walk(tree)
    return generator.mistakes.sorted { $0.edits[0].range.lowerBound < $1.edits[0].range.lowerBound }
  }

  private init(_ source: Source, _ converter: SourceLocationConverter) {
    self.source = source
    self.converter = converter
    super.init(viewMode: .sourceAccurate)
  }

  private func add(
    _ first: some SyntaxProtocol, through last: (some SyntaxProtocol)? = TokenSyntax?.none, _ text: String
  ) {
    let start = first.positionAfterSkippingLeadingTrivia
    let end = last?.endPositionBeforeTrailingTrivia ?? first.endPositionBeforeTrailingTrivia
    let range = start.utf8Offset..<end.utf8Offset
    let old = source.text(range)
    let line = converter.location(for: start).line
    let change = text.isEmpty ? "dropped: \(old)" : "\(old) → \(text)"
    let name = "\(source.path):\(line): " + change.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let number =
      UInt32(mistakes.count + 1) &+ source.path.utf8.reduce(0) { ($0 &* 31) &+ UInt32($1) } % 100_000 * 10_000
    mistakes.append(Mistake(name: name, number: number, edits: [Edit(file: source.path, range: range, text: text)]))
  }

  /// `if a`, `guard a`, `while a`
  override func visit(_ node: ConditionElementSyntax) -> SyntaxVisitorContinueKind {
    if case .expression(let condition) = node.condition { add(condition, "!(\(condition.trimmedDescription))") }
    return .visitChildren
  }

  override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    add(node, node.literal.text == "true" ? "false" : "true")
    return .skipChildren
  }

  override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    if let number = Int(node.literal.text), number < 1_000_000 { add(node, "\(number + 1)") }
    return .skipChildren
  }

  override func visit(_ node: BinaryOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    let others = [
      "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "..<": "...",
    ]
    if let other = others[node.operator.text] { add(node, other) }
    return .skipChildren
  }

  override func visit(_ node: PrefixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    if node.operator.text == "!" { add(node, node.expression.trimmedDescription) }
    return .visitChildren
  }

  /// `min(a, b)`, `max(a, b)`
  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    let others = ["min": "max", "max": "min"]
    let name = node.calledExpression.as(DeclReferenceExprSyntax.self)
    if let name, let other = others[name.baseName.text] { add(name, other) }
    return .visitChildren
  }

  /// `a ? b : c`, with the whole of `a`.
  override func visit(_ node: SequenceExprSyntax) -> SyntaxVisitorContinueKind {
    let elements = Array(node.elements)
    guard let ternary = elements.firstIndex(where: { $0.is(UnresolvedTernaryExprSyntax.self) }) else {
      return .visitChildren
    }
    let start = elements[..<ternary].lastIndex { $0.is(AssignmentExprSyntax.self) }.map { $0 + 1 } ?? 0
    let condition = elements[start..<ternary]
    if let first = condition.first, let last = condition.last {
      let text = source.text(
        first.positionAfterSkippingLeadingTrivia.utf8Offset..<last.endPositionBeforeTrailingTrivia.utf8Offset)
      add(first, through: last, "!(\(text))")
    }
    return .visitChildren
  }

  override func visit(_ node: CodeBlockItemListSyntax) -> SyntaxVisitorContinueKind {
    // A single expression may be the value of its closure or function.
    let isValue = node.count == 1 && !(node.parent?.parent?.is(IfExprSyntax.self) ?? false)
    for item in node where !isValue { dropIfCallOrAssignment(item) }
    return .visitChildren
  }

  private func dropIfCallOrAssignment(_ item: CodeBlockItemSyntax) {
    guard var expression = item.item.as(ExprSyntax.self) else { return }
    if let inner = expression.as(TryExprSyntax.self) { expression = inner.expression }
    if let inner = expression.as(AwaitExprSyntax.self) { expression = inner.expression }
    let operators = expression.as(SequenceExprSyntax.self)?.elements ?? []
    let isAssignment = operators.contains { element in
      let name = element.as(BinaryOperatorExprSyntax.self)?.operator.text ?? ""
      return element.is(AssignmentExprSyntax.self) || ["+=", "-=", "*="].contains(name)
    }
    if isAssignment || expression.is(FunctionCallExprSyntax.self) { add(item, "") }
  }
}
