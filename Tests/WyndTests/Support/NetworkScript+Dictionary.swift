import Foundation
import Wynd

/// Header fields that a test computes.
extension NetworkScript.Step {
  static func ok(_ body: String, headers: [String: String]) -> Self { .ok(body, headers: NetworkHeaders(headers)) }
  static func status(_ code: Int, _ body: String = "", headers: [String: String]) -> Self {
    .status(code, body, headers: NetworkHeaders(headers))
  }
}
