import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How a transfer sends and receives its bodies: the source of the request's body, if that is not in `httpBody`, and
/// closures that receive the response as it arrives. The closures are called serially, and not after the end of the
/// attempt. An error that one of them throws ends the attempt.
nonisolated final class NetworkBodies: Sendable {
  /// The request is an upload: its body is not that of a form.
  let isUpload: Bool
  let file: URL?
  /// Makes a new stream each time the body is sent.
  let stream: (@Sendable () throws -> InputStream)?
  /// The number of bytes of the file or the stream; nil if it is not known.
  let length: Int64?
  let onHead: @Sendable (HTTPURLResponse) throws -> Void
  let onData: @Sendable (Data) throws -> Void
  /// Receives the number of bytes of the request's body that have been sent so far.
  let onSent: @Sendable (Int64) -> Void
  /// Receives the task, on Apple's platforms only, where it may be suspended.
  let onTask: @Sendable (URLSessionTask) -> Void

  init(
    isUpload: Bool = false, file: URL? = nil, stream: (@Sendable () throws -> InputStream)? = nil,
    length: Int64? = nil, onHead: @escaping @Sendable (HTTPURLResponse) throws -> Void = { _ in },
    onData: @escaping @Sendable (Data) throws -> Void, onSent: @escaping @Sendable (Int64) -> Void = { _ in },
    onTask: @escaping @Sendable (URLSessionTask) -> Void = { _ in }
  ) {
    self.isUpload = isUpload
    self.file = file
    self.stream = stream
    self.length = length
    self.onHead = onHead
    self.onData = onData
    self.onSent = onSent
    self.onTask = onTask
  }

  /// The same, with an action before the head of the response.
  func beforeHead(_ action: @escaping @Sendable () -> Void) -> NetworkBodies {
    NetworkBodies(
      isUpload: isUpload, file: file, stream: stream, length: length,
      onHead: { [onHead] head in
        action()
        try onHead(head)
      },
      onData: onData, onSent: onSent, onTask: onTask)
  }
}
