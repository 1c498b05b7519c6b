import Foundation

/// An error whose log text contains no secret.
nonisolated protocol NetworkLoggableError: Swift.Error { var networkLogText: String { get } }

nonisolated extension NetworkLoggableError where Self: CustomStringConvertible {
  var networkLogText: String { description }
}
