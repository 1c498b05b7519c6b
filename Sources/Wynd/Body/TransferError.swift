public import Foundation

/// A failure of a transfer that is not a network error, inside ``NetworkError/generalError(_:)``.
nonisolated public enum TransferError: NetworkLoggableError, CustomStringConvertible, RetryableError, LocalizedError,
  Sendable
{
  /// The file exists already, and the download does not overwrite it.
  case destinationExists(URL)
  /// The file cannot be read or written, for this reason.
  case unusableFile(URL, reason: String)
  /// Another download, of this process or another one, is writing to the same destination. A download waits up to a
  /// second for one that was canceled.
  case inUse(URL)
  /// A file operation failed, for example because the disk is full or a permission is missing.
  case fileSystem(any Swift.Error)
  /// The response is not what was requested: the file, a part of it, or an event stream. None of it was kept.
  case invalidResponse(reason: String)
  /// The partial file does not belong to the file on the server. The next attempt starts over.
  case changed(reason: String)
  /// A line or an event of a stream is larger than this limit in bytes, or the reader is further behind.
  case responseTooLarge(limit: Int)
  /// The file is complete, and `validate:` of the download threw this error.
  case invalidFile(any Swift.Error)

  /// Whether a retry may help.
  public var shouldRetry: Bool { if case .changed = self { true } else { false } }

  /// One line for a log.
  public var description: String { NetworkError.oneLine(texts.log, 1_000) }
  /// A sentence for people. An error of `validate:` can provide its own, as a `LocalizedError`.
  public var errorDescription: String? {
    if case .invalidFile(let own as any LocalizedError) = self { own.errorDescription } else { texts.people }
  }
  private var texts: (log: String, people: String) {
    switch self {
    case .destinationExists(let file): ("\(file.path) exists", "“\(file.lastPathComponent)” already exists.")
    case .unusableFile(let file, let reason):
      ("\(file.path): \(reason)", "“\(file.lastPathComponent)” cannot be used: \(reason).")
    case .inUse(let file):
      ("\(file.path) is in use by another download", "“\(file.lastPathComponent)” is already being downloaded.")
    case .fileSystem(CocoaError.fileWriteOutOfSpace): ("the disk is full", "There is not enough space for the file.")
    case .fileSystem(let error):
      ("file system error: \(error.localizedDescription)", "The file could not be read or written.")
    case .invalidResponse(let reason): ("unexpected response: \(reason)", "The server did not send the requested file.")
    case .changed(let reason):
      ("the parts do not fit together: \(reason)", "The server did not send the requested file.")
    case .responseTooLarge(let limit):
      ("a line, or unread data, of over \(limit) bytes", "The server sent a response that cannot be used.")
    case .invalidFile(let error): ("invalid file: \(type(of: error))", "The file is not valid.")
    }
  }
}

nonisolated extension NetworkError {
  /// Wraps an error of a transfer. An error of an unknown type comes from a file operation.
  init(transfer error: any Swift.Error) {
    self = error as? NetworkError ?? .generalError(error as? TransferError ?? .fileSystem(error))
  }
}
