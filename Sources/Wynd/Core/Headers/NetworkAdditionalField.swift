import Foundation

/// The header fields that a session adds to its requests, `httpAdditionalHeaders`.
nonisolated enum NetworkAdditionalField {
  /// The value of a field, whose name may have any case; nil if there is none.
  static func value(of name: String, in fields: [AnyHashable: Any]?) -> String? {
    for case (let key as String, let value as String) in fields ?? [:] where key.lowercased() == name.lowercased() {
      return value
    }
    return nil
  }
}
