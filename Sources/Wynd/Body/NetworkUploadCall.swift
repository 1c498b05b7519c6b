import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends a body in every attempt of a call: the body of an upload, or one of an endpoint that is not in memory.
nonisolated final class NetworkUploadCall: Sendable {
  let body: RequestBody
  /// The body if it is in memory; otherwise nil.
  let data: Data?
  private let progress: NetworkProgressReporter
  /// The file of a body that is passed in chunks. It is made on the first attempt, and kept for the retries.
  private let assembled = NetworkLock<NetworkTemporaryFile?>(nil)

  init(_ body: RequestBody, data: Data?, _ onProgress: (@Sendable (TransferProgress) -> Void)?) {
    self.body = body
    self.data = data
    progress = NetworkProgressReporter(onProgress)
  }

  /// Makes each attempt of a call send the body.
  func add(to plan: inout NetworkCallPlan) {
    // The request's own stream could not be sent twice. With a wrong Content-Length, the server would read the rest of
    // the body as the next request.
    plan.request.httpBodyStream = nil
    // A body in memory is part of the request, so that a middleware can sign it.
    plan.request.httpBody = data
    Self.removeFraming(of: &plan.request)
    plan.transfer = { send in
      { outgoing in await self.attempt(outgoing, send) }
    }
  }

  /// What an attempt has received and sent.
  private struct Transferred: Sendable {
    var data = Data()
    var sent = Int64(0)
  }

  private func attempt(_ outgoing: NetworkOutgoing, _ send: NetworkSend) async -> NetworkOutcome {
    let transferred = NetworkLock(Transferred())
    do {
      if outgoing.request.networkMethod == "HEAD" {
        throw NetworkError.invalidRequest(reason: "HEAD cannot have a body")
      }
      if outgoing.request.httpBodyStream != nil {
        throw NetworkError.invalidRequest(reason: "a middleware has set httpBodyStream; set httpBody")
      }
      // A middleware may have replaced a body that is not in memory.
      let isReplaced = outgoing.request.httpBody != nil
      let file = isReplaced ? nil : try await assembledFile()?.url ?? fileOfBody
      let stream = isReplaced ? nil : streamOfBody
      let length = try await length(of: file, outgoing.request.httpBody)
      var outcome = await send(prepared(outgoing, file, stream, length, transferred))
      outcome.data = transferred.withLock { $0.data }
      let all = length ?? transferred.withLock { $0.sent }
      if case .success = outcome.result(isHead: false, allowEmptyData: true) {
        progress.report(all, of: all)
        // The process may end right after the result, before the last reference to this call is gone.
        assembled.withLock { $0 = nil }
      }
      await progress.waitForReports()
      return outcome
    } catch { return NetworkOutcome(error: NetworkError(transfer: error)) }
  }

  private func prepared(
    _ outgoing: NetworkOutgoing, _ file: URL?, _ stream: (@Sendable () throws -> InputStream)?, _ length: Int64?,
    _ transferred: NetworkLock<Transferred>
  ) -> NetworkOutgoing {
    var outgoing = outgoing
    // Not the fields that a middleware may have added: with a wrong length, the server would read the rest of the body
    // as the next request.
    Self.removeFraming(of: &outgoing.request)
    outgoing.bodies = NetworkBodies(
      isUpload: true,
      file: file,
      stream: stream,
      length: length,
      // On Linux, a 401 has headers and a body too if the request is sent again with a credential.
      onHead: { _ in transferred.withLock { $0.data = Data() } },
      onData: { data in transferred.withLock { $0.data += data } },
      onSent: { [progress] sent in
        transferred.withLock { $0.sent = sent }
        progress.report(min(sent, length ?? sent), of: length)
      })
    progress.report(0, of: length)
    return outgoing
  }

  private static func removeFraming(of request: inout URLRequest) {
    for name in ["Content-Length", "Transfer-Encoding"] { request.setValue(nil, forHTTPHeaderField: name) }
  }

  /// The file of a body that is passed in chunks. Nil for any other body.
  private func assembledFile() async throws -> NetworkTemporaryFile? {
    guard case .chunks(let write) = body.content else { return nil }
    if let file = assembled.withLock({ $0 }) { return file }
    let file = try await networkInBackground { try NetworkTemporaryFile(write) }
    assembled.withLock { $0 = file }
    return file
  }

  private var fileOfBody: URL? {
    if case .file(let file) = body.content { file } else { nil }
  }

  private var streamOfBody: (@Sendable () throws -> InputStream)? {
    if case .stream(_, let makeStream) = body.content { makeStream } else { nil }
  }

  /// The length of the body in bytes; nil for a stream whose length is not known.
  private func length(of file: URL?, _ data: Data?) async throws -> Int64? {
    if let file { return try await networkInBackground { try Self.size(of: file) } }
    if let data { return Int64(data.count) }
    guard case .stream(let length?, _) = body.content else { return nil }
    if length < 0 { throw NetworkError.invalidRequest(reason: "a body of a negative length") }
    return length
  }

  /// The size in bytes. Throws if the file cannot be read, because URLSession on Linux would crash.
  private static func size(of file: URL) throws -> Int64 {
    guard let handle = FileHandle.networkReading(file), let size = try? handle.seekToEnd()
    else { throw TransferError.unusableFile(file, reason: "not a file that can be read") }
    return Int64(size)
  }
}
