import Foundation
import Wynd

/// The progress of a download on the last line of standard error, if that is a terminal.
enum ProgressBar {
  private static let isVisible = isatty(STDERR_FILENO) == 1

  /// Draws `[######--------------] 60.0 MB`, or only the size if the length of the file is unknown.
  static func draw(_ progress: TransferProgress) {
    let size = String(format: "%.1f MB", Double(progress.completed) / 1e6)
    guard let fraction = progress.fraction else { return replaceLine(with: size) }
    let filled = Int(fraction * 20)
    let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: 20 - filled)
    replaceLine(with: "[\(bar)] \(size)")
  }

  static func clear() { replaceLine(with: "") }

  private static func replaceLine(with text: String) {
    let clearsLine = "\r\u{1B}[K"
    if isVisible { Console.write(clearsLine + text, to: .standardError) }
  }
}
