import Foundation

// This extends a type of Foundation, so the name must not collide with one of the app.
nonisolated extension FileHandle {
  /// Opens a regular file. Throws if it cannot be read, and for a pipe or a device, from which reading might never end.
  static func networkReading(_ file: URL) throws -> FileHandle {
    let values = try? file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
    guard values?.isRegularFile == true, let handle = try? FileHandle(forReadingFrom: file)
    else { throw TransferError.unusableFile(file, reason: "not a file that can be read") }
    return handle
  }
}
