// Logging: events in the log of the system, and a request as a curl command. It needs Core.

import Foundation

#if canImport(os)
  import os
#endif

nonisolated extension NetworkEvent {
  /// How important an event is. The names are those of other logs, such as swift-log's `Logger.Level`.
  public enum Level: String, Sendable {
    /// An attempt started, or the call succeeded.
    case debug
    /// The caller canceled the call.
    case info
    /// An attempt failed, or another one follows.
    case notice
    /// The call failed, or its response cannot be parsed.
    case error
  }

  /// How important the event is.
  public var level: Level {
    switch kind {
    case .attemptStarted, .succeeded: .debug
    case .gaveUp(.cancelled): .info
    case .attemptFailed, .willRetry: .notice
    case .gaveUp, .undecodable: .error
    }
  }

  /// Writes an event to the log: `policy.onEvent = NetworkEvent.log`.
  ///
  /// On Apple's platforms it is the unified log, with the identifier of the app as subsystem and `Wynd` as category.
  /// Elsewhere it is standard error.
  @Sendable public static func log(_ event: NetworkEvent) {
    #if canImport(os)
      let types: [Level: OSLogType] = [.debug: .debug, .info: .info, .notice: .default, .error: .error]
      let logger = Logger(subsystem: Bundle.main.bundleIdentifier ?? "Wynd", category: "Wynd")
      logger.log(level: types[event.level] ?? .default, "\(event.description, privacy: .public)")
    #else
      try? FileHandle.standardError.write(contentsOf: Data("\(event.level): \(event)\n".utf8))
    #endif
  }
}
