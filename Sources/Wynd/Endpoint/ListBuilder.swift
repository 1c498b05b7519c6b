/// Builds a list, such as query items or middleware, one per line.
///
/// ```swift
/// @ListBuilder<URLQueryItem> var queryItems: [URLQueryItem] {
///   URLQueryItem(name: "q", value: text)
///   if let page { URLQueryItem(name: "page", value: "\(page)") }
/// }
/// ```
@resultBuilder nonisolated public enum ListBuilder<Element>: Sendable {
  /// One element, or none.
  public static func buildExpression(_ element: Element?) -> [Element] { element.map { [$0] } ?? [] }
  /// Several elements.
  public static func buildExpression(_ elements: [Element]) -> [Element] { elements }
  /// Joins the elements of all lines.
  public static func buildBlock(_ lists: [Element]...) -> [Element] { lists.flatMap { $0 } }
  /// `if` without `else`.
  public static func buildOptional(_ list: [Element]?) -> [Element] { list ?? [] }
  /// `if`.
  public static func buildEither(first list: [Element]) -> [Element] { list }
  /// `else`.
  public static func buildEither(second list: [Element]) -> [Element] { list }
  /// `for`.
  public static func buildArray(_ lists: [[Element]]) -> [Element] { lists.flatMap { $0 } }
}
