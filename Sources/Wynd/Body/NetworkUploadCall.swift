import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends a body in every attempt of a call: that of an upload, or one of an endpoint that is not in memory.
nonisolated struct NetworkUploadCall: Sendable {
  let body: RequestBody
  /// The body if it is in memory, nil for any other, or why it cannot be sent.
  let data: Result<Data?, NetworkError>
  /// Receives the bytes that have been sent, and the length of the body if it is known.
  var report: @Sendable (Int64, Int64?) -> Void = { _, _ in }
  /// Returns when the last report has been delivered.
  var reportsAreDelivered: @Sendable () async -> Void = {}
  /// The file of a body that is passed in chunks. It is made on the first attempt, and kept for the retries.
  let assembled = NetworkLock<NetworkTemporaryFile?>(nil)

  init(_ body: RequestBody, data: Result<Data?, NetworkError> = .success(nil)) {
    self.body = body
    self.data = data
  }

  /// The result of the call, after removing the assembled body.
  func end(_ result: RetryLoop.CallResult) -> RetryLoop.CallResult {
    assembled.withLock { $0 = nil }
    return result
  }

  /// Makes each attempt of a call send the body.
  func add(to plan: inout NetworkCallPlan) {
    // The request's own stream could not be sent twice. With a wrong Content-Length, the server would read the rest of
    // the body as the next request.
    plan.request.httpBodyStream = nil
    // A body in memory is part of the request, so that a middleware can sign it.
    plan.request.httpBody = try? data.get()
    for name in ["Content-Length", "Transfer-Encoding"] { plan.request.setValue(nil, forHTTPHeaderField: name) }
    plan.addsBody = true
    plan.transfer = { send in
      { outgoing in await attempt(outgoing, send) }
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
      var outgoing = outgoing
      let isInMemory = try data.get() != nil
      let bodyInMemory = isInMemory ? outgoing.request.httpBody : nil
      outgoing.request.httpBodyStream = nil
      outgoing.request.httpBody = bodyInMemory
      let assembled = try await assembledFile()
      let file = assembled?.url ?? fileOfBody
      let length = try await length(of: file, outgoing.request.httpBody)
      var outcome = await send(prepared(outgoing, file, length, transferred))
      outcome.data = transferred.withLock { $0.data }
      let all = length ?? transferred.withLock { $0.sent }
      if case .success = outcome.result(isHead: false, allowEmptyData: true) { report(all, all) }
      await reportsAreDelivered()
      return outcome
    } catch { return NetworkOutcome(error: NetworkError(transfer: error)) }
  }

  private func prepared(
    _ outgoing: NetworkOutgoing, _ file: URL?, _ length: Int64?, _ transferred: NetworkLock<Transferred>
  ) -> NetworkOutgoing {
    var outgoing = outgoing
    // Not the fields that a middleware may have added: with a wrong length, the server would read the rest of the body
    // as the next request.
    let stream = streamOfBody
    let streamLength = stream == nil ? nil : length
    outgoing.request.setValue(streamLength.map { String($0) }, forHTTPHeaderField: "Content-Length")
    outgoing.request.setValue(nil, forHTTPHeaderField: "Transfer-Encoding")
    outgoing.bodies = NetworkBodies(
      isUpload: true,
      file: file,
      stream: stream,
      // On Linux, a 401 has headers and a body too if the request is sent again with a credential.
      onHead: { _ in transferred.withLock { $0.data = Data() } },
      onData: { data in transferred.withLock { $0.data += data } },
      onSent: { [report] sent in
        transferred.withLock { $0.sent = sent }
        report(min(sent, length ?? sent), length)
      })
    report(0, length)
    return outgoing
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
