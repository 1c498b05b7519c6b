public import Foundation

/// What fails in a transfer beside the network, inside ``NetworkError/transferFailed(_:)``.
nonisolated public enum TransferError: LoggableError, LocalizedError, Sendable, CustomStringConvertible {
  /// There is a file already, and it was asked to stay (``DownloadOptions/ifExists``).
  case destinationExists(URL)
  /// No file can be put there, or nothing can be read there: why.
  case unusableFile(URL, reason: String)
  /// Another download writes to the same partial file.
  case inUse(URL)
  /// The file system refused: no room, no permission.
  case fileSystem(any Error)
  /// The server's answer is no part of the file that was asked for: why. Nothing of it was kept.
  case invalidAnswer(reason: String)
  /// The file came whole, and is not the one that was expected: its SHA-256, in hexadecimal digits.
  case checksumMismatch(actual: String)

  /// One line for a log.
  public var description: String {
    switch self {
    case .destinationExists(let file): "\(file.path) exists"
    case .unusableFile(let file, let reason): "\(file.path): \(reason)"
    case .inUse(let file): "\(file.path) is in use by another download"
    case .fileSystem(let error): "the file system refused: \(error.localizedDescription)"
    case .invalidAnswer(let reason): "no part of the file that was asked for: \(reason)"
    case .checksumMismatch(let actual): "not the file that was expected: its SHA-256 is \(actual)"
    }
  }
  /// The same line.
  public var errorDescription: String? { description }
}
