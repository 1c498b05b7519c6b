import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How a transfer sends and receives its bodies: the source of the request's body, if that is not in `httpBody`, and
/// closures that receive the response as it arrives. The closures are called serially, and not after the end of the
/// attempt. An error that one of them throws ends the attempt.
nonisolated struct NetworkBodies: Sendable {
  /// The request is an upload: its body is not that of a form.
  var isUpload = false
  var file: URL?
  /// Makes a new stream each time the body is sent.
  var stream: (@Sendable () throws -> InputStream)?
  /// The number of bytes of the file or the stream; nil if it is not known.
  var length: Int64?
  var onHead: @Sendable (HTTPURLResponse) throws -> Void = { _ in }
  var onData: @Sendable (Data) throws -> Void
  /// Receives the number of bytes of the request's body that have been sent so far.
  var onSent: @Sendable (Int64) -> Void = { _ in }
  /// Receives the task, on Apple's platforms only, where it may be suspended.
  var onTask: @Sendable (URLSessionTask) -> Void = { _ in }
}
