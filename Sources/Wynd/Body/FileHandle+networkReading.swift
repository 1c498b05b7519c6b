import Foundation

// This extends a type of Foundation, so the name must not collide with one of the app.
nonisolated extension FileHandle {
  /// Opens a regular file. Nil if it cannot be read, and for a pipe or a device, from which reading might never end.
  static func networkReading(_ file: URL) -> FileHandle? {
    let values = try? file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
    guard values?.isRegularFile == true else { return nil }
    return try? FileHandle(forReadingFrom: file)
  }
}
