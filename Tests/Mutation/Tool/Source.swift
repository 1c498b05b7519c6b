import Foundation
import SwiftParser
import SwiftSyntax

/// A part of a file, in bytes.
typealias ByteRange = Range<Int>

/// A file of the library, and where its declarations are.
struct Source {
  /// Relative to the folder of the sources.
  var path: String
  var bytes: [UInt8]
  var declarations: [Declaration]

  struct Declaration {
    /// With the types around it: `RetryPolicy.decision`.
    var name: String
    /// With argument labels: `Backoff.delay(retry:random:)`.
    var nameWithLabels: String
    var tokens: [Token]
    var range: ByteRange
    /// What can be replaced at run time.
    var parts: [Part]
  }

  /// A body, or the value of a property or an argument.
  struct Part: Hashable {
    enum Kind: Hashable {
      /// The statements between braces. `isVoid`: they return no value.
      case body(isVoid: Bool)
      case value
    }

    var kind: Kind
    var range: ByteRange
  }

  init(path: String, text: String) {
    self.path = path
    bytes = Array(text.utf8)
    let collector = DeclarationCollector(viewMode: .sourceAccurate)
    collector.walk(Parser.parse(source: text))
    declarations = collector.declarations
  }

  func text(_ range: ByteRange) -> String { String(decoding: bytes[range], as: UTF8.self) }
}

struct Token {
  var text: String
  var range: ByteRange
}

func tokens(of node: some SyntaxProtocol) -> [Token] {
  node.tokens(viewMode: .sourceAccurate).filter { !$0.text.isEmpty }.map { token in
    let start = token.positionAfterSkippingLeadingTrivia.utf8Offset
    return Token(text: token.text, range: start..<token.endPositionBeforeTrailingTrivia.utf8Offset)
  }
}

func tokens(of text: String) -> [Token] { tokens(of: Parser.parse(source: text)) }

/// Where the text occurs, whatever the space between its tokens. `<` and `=` are found in no `<=`.
func occurrences(of text: String, in all: [Token]) -> [ByteRange] {
  let wanted = Array(tokens(of: text).map(\.text).joined().utf8)
  return all.indices.compactMap { first in
    var rest = wanted[...]
    for token in all[first...] {
      guard rest.starts(with: token.text.utf8) else { return nil }
      rest = rest.dropFirst(token.text.utf8.count)
      if rest.isEmpty { return all[first].range.lowerBound..<token.range.upperBound }
    }
    return nil
  }
}

private final class DeclarationCollector: SyntaxVisitor {
  var declarations: [Source.Declaration] = []
  private var types: [String] = []

  override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text) }
  override func visitPost(_ node: ClassDeclSyntax) { types.removeLast() }
  override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text) }
  override func visitPost(_ node: StructDeclSyntax) { types.removeLast() }
  override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text) }
  override func visitPost(_ node: EnumDeclSyntax) { types.removeLast() }
  override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text) }
  override func visitPost(_ node: ProtocolDeclSyntax) { types.removeLast() }
  override func visit(_ node: ExtensionDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(node.extendedType.trimmedDescription)
  }
  override func visitPost(_ node: ExtensionDeclSyntax) { types.removeLast() }

  private func enter(_ type: String) -> SyntaxVisitorContinueKind {
    types.append(type)
    return .visitChildren
  }

  override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
    let signature = node.signature
    let result = signature.returnClause?.type.trimmedDescription ?? "Void"
    var parts = values(of: signature.parameterClause.parameters)
    if let body = node.body { parts.append(self.body(body, isVoid: ["Void", "()"].contains(result))) }
    add(node, node.name.text, signature.parameterClause.parameters, parts)
    return .skipChildren
  }

  override func visit(_ node: InitializerDeclSyntax) -> SyntaxVisitorContinueKind {
    let parameters = node.signature.parameterClause.parameters
    add(node, "init", parameters, values(of: parameters) + (node.body.map { [body($0, isVoid: true)] } ?? []))
    return .skipChildren
  }

  override func visit(_ node: DeinitializerDeclSyntax) -> SyntaxVisitorContinueKind {
    add(node, "deinit", nil, node.body.map { [body($0, isVoid: true)] } ?? [])
    return .skipChildren
  }

  override func visit(_ node: SubscriptDeclSyntax) -> SyntaxVisitorContinueKind {
    let parameters = node.parameterClause.parameters
    add(node, "subscript", parameters, values(of: parameters) + accessors(node.accessorBlock))
    return .skipChildren
  }

  override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
    for binding in node.bindings {
      let value = binding.initializer.map { [Source.Part(kind: .value, range: range(of: $0.value))] } ?? []
      add(binding, binding.pattern.trimmedDescription, nil, value + accessors(binding.accessorBlock))
    }
    return .skipChildren
  }

  private func add(
    _ node: some SyntaxProtocol, _ name: String, _ parameters: FunctionParameterListSyntax?, _ parts: [Source.Part]
  ) {
    let labels = parameters.map { "(" + $0.map { $0.firstName.text + ":" }.joined() + ")" } ?? ""
    let path = (types + [name]).joined(separator: ".")
    declarations.append(
      Source.Declaration(
        name: path, nameWithLabels: path + labels, tokens: tokens(of: node), range: range(of: node), parts: parts))
  }

  private func values(of parameters: FunctionParameterListSyntax) -> [Source.Part] {
    parameters.compactMap { $0.defaultValue }.map { Source.Part(kind: .value, range: range(of: $0.value)) }
  }

  private func accessors(_ block: AccessorBlockSyntax?) -> [Source.Part] {
    guard let block else { return [] }
    if case .accessors(let list) = block.accessors {
      return list.compactMap { accessor in
        accessor.body.map { body($0, isVoid: accessor.accessorSpecifier.text != "get") }
      }
    }
    let start = block.leftBrace.endPositionBeforeTrailingTrivia.utf8Offset
    let end = block.rightBrace.positionAfterSkippingLeadingTrivia.utf8Offset
    return [Source.Part(kind: .body(isVoid: false), range: start..<end)]
  }

  private func body(_ block: CodeBlockSyntax, isVoid: Bool) -> Source.Part {
    let start = block.leftBrace.endPositionBeforeTrailingTrivia.utf8Offset
    let end = block.rightBrace.positionAfterSkippingLeadingTrivia.utf8Offset
    return Source.Part(kind: .body(isVoid: isVoid), range: start..<end)
  }

  private func range(of node: some SyntaxProtocol) -> ByteRange {
    let start = node.positionAfterSkippingLeadingTrivia.utf8Offset
    return start..<node.endPositionBeforeTrailingTrivia.utf8Offset
  }
}
