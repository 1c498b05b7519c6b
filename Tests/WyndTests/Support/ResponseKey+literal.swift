@testable import Wynd

extension ResponseKey: ExpressibleByStringLiteral {
  /// A key for a URL.
  public init(stringLiteral url: String) { self.init(url: url) }

  init(url: String, scope: String = "", variant: String = "") {
    self.init(target: url, scope: scope, variant: variant)
  }
}
