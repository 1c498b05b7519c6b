import Foundation

/// An error whose log text contains no secret.
nonisolated protocol NetworkLoggableError: Error { var networkLogText: String { get } }

nonisolated extension NetworkLoggableError where Self: CustomStringConvertible {
  var networkLogText: String { description }
}
