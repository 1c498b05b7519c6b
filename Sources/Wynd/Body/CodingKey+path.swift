// Body: the body of a request, which need not be in memory, and the upload that sends it in each attempt.
// It needs Core. Endpoint and Transfer need it.
// Start with RequestBody.swift.

nonisolated extension [any CodingKey] {
  /// The path to a value, for a log: `users[3].email`. Nil at the top.
  var networkPath: String? {
    if isEmpty { return nil }
    let text = map { key in
      // A case of an enumeration is a name in the code, and "Index 3" is an element of an array. Any other key, such as
      // that of a dictionary, is from the body.
      let mirror = Mirror(reflecting: key)
      let name = mirror.displayStyle == .enum && mirror.children.isEmpty ? key.stringValue : "…"
      return key.stringValue.hasPrefix("Index ") ? "[\(key.intValue ?? 0)]" : ".\(name)"
    }
    return NetworkError.oneLine(String(text.joined().trimmingPrefix(".")), 120)
  }
}
