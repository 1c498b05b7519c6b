public import Foundation

/// What fails in a transfer besides the network, inside ``NetworkError/transferFailed(_:)``.
nonisolated public enum TransferError: LoggableError, RetryableError, LocalizedError, Sendable {
  /// There is a file already, and ``DownloadOptions/overwrites`` is false.
  case destinationExists(URL)
  /// No file can be written there, or nothing can be read there, for this reason.
  case unusableFile(URL, reason: String)
  /// Another download writes to the same place.
  case inUse(URL)
  /// An operation of the file system failed: no room, no permission.
  case fileSystem(any Error)
  /// The response is not what was requested: the file, or the part of it, or a stream of events. Nothing of it was kept.
  case invalidResponse(reason: String)
  /// What was kept of the file does not belong to the file that the server has now. The next attempt starts over.
  case changed(reason: String)
  /// The file is complete, and ``DownloadOptions/validate`` threw this error.
  case invalidFile(any Error)

  /// Whether another attempt may help.
  public var shouldRetry: Bool { if case .changed = self { true } else { false } }

  /// One line for a log.
  public var description: String {
    switch self {
    case .destinationExists(let file): "\(file.path) exists"
    case .unusableFile(let file, let reason): "\(file.path): \(reason)"
    case .inUse(let file): "\(file.path) is in use by another download"
    case .fileSystem(let error): "file system error: \(error.localizedDescription)"
    case .invalidResponse(let reason): "unexpected response: \(reason)"
    case .changed(let reason): "the parts do not fit together, the download starts over: \(reason)"
    case .invalidFile(let error): "the file is not valid: \(type(of: error))"
    }
  }
  /// A sentence for the person in front of the screen. An error of ``DownloadOptions/validate`` may bring its own.
  public var errorDescription: String? {
    switch self {
    case .destinationExists(let file): return "“\(file.lastPathComponent)” already exists."
    case .unusableFile(let file, let reason): return "“\(file.lastPathComponent)” cannot be used: \(reason)."
    case .inUse(let file): return "“\(file.lastPathComponent)” is already being downloaded."
    case .fileSystem(let error):
      let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
      return isFull ? "There is not enough space for the file." : "The file could not be read or written."
    case .invalidResponse, .changed: return "The server did not send the requested file."
    case .invalidFile(let error):
      return (error as? any LocalizedError)?.errorDescription ?? "The downloaded file is not valid."
    }
  }
}

nonisolated extension NetworkError {
  /// What failed in a transfer. An error that says nothing else is one of the file system.
  init(transfer error: any Error) {
    self = error as? NetworkError ?? .transferFailed(error as? TransferError ?? .fileSystem(error))
  }
}
