import Foundation

/// What is known about a file that is being downloaded. It is stored next to the partial file.
nonisolated struct NetworkDownloadState: Codable, Equatable, Sendable {
  /// Identifies the file: a hash of the method and the URL.
  var source: String
  /// A strong entity tag or a strong date (RFC 9110 §13.1.5); nil if the rest of the file cannot be requested.
  var validator: String?
  /// The size of the complete file in bytes, if it is known.
  var total: Int64?
}
