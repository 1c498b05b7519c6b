public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a download with `resumes: true` has kept beside its destination.
///
/// ```swift
/// if NetworkPartialDownload.exists(for: file) { show("Continue the download") }
/// ```
nonisolated public enum NetworkPartialDownload: Sendable {
  /// Whether there is a partial file for this destination.
  public static func exists(for destination: URL) -> Bool {
    FileManager.default.fileExists(atPath: NetworkPartialFile.url(for: destination).path)
  }

  /// Removes the partial file for this destination, unless a download is writing to it.
  public static func remove(for destination: URL) {
    let request = URLRequest(url: destination)
    try? NetworkPartialFile(for: destination, from: request, overwrites: true, resumes: false).close()
  }
}
