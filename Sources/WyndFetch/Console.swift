import Foundation

/// Writes lines at once. `print` would keep them until 4 KB are there if the output is a pipe.
enum Console {
  /// To standard output.
  static func say(_ line: String) { write(line + "\n", to: .standardOutput) }

  /// To standard error, in place of the progress bar.
  static func note(_ line: String) {
    ProgressBar.clear()
    write("wynd-fetch: \(line)\n", to: .standardError)
  }

  static func write(_ text: String, to output: FileHandle) {
    // Nobody reads it if this fails.
    try? output.write(contentsOf: Data(text.utf8))
  }
}
