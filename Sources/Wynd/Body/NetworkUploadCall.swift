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
      let isInMemory = outgoing.request.httpBody != nil
      let prepared =
        isInMemory
        ? try prepared(outgoing, transferred)
        : try await networkInBackground { try self.prepared(outgoing, transferred) }
      let length = prepared.bodies?.length
      progress.report(0, of: length)
      var outcome = await send(prepared)
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

  /// The request with its body. This may read files.
  private func prepared(_ outgoing: NetworkOutgoing, _ transferred: NetworkLock<Transferred>) throws -> NetworkOutgoing
  {
    if outgoing.request.networkMethod == "HEAD" {
      throw NetworkError.invalidRequest(reason: "HEAD cannot have a body")
    }
    if outgoing.request.httpBodyStream != nil {
      throw NetworkError.invalidRequest(reason: "a middleware has set httpBodyStream; set httpBody")
    }
    let source = try source(replacedBy: outgoing.request.httpBody)
    var outgoing = outgoing
    // Not the fields that a middleware may have added: with a wrong length, the server would read the rest of the body
    // as the next request.
    Self.removeFraming(of: &outgoing.request)
    outgoing.bodies = NetworkBodies(
      isUpload: true,
      file: source.file,
      stream: source.stream,
      length: source.length,
      // On Linux, a 401 has headers and a body too if the request is sent again with a credential.
      onHead: { _ in transferred.withLock { $0.data = Data() } },
      onData: { data in transferred.withLock { $0.data += data } },
      onSent: { [progress] sent in
        transferred.withLock { $0.sent = sent }
        progress.report(min(sent, source.length ?? sent), of: source.length)
      })
    return outgoing
  }

  private static func removeFraming(of request: inout URLRequest) {
    for name in ["Content-Length", "Transfer-Encoding"] { request.setValue(nil, forHTTPHeaderField: name) }
  }

  /// Where the bytes of the body come from, unless they are in the request itself.
  private struct Source: Sendable {
    var file: URL?
    var stream: (@Sendable () throws -> InputStream)?
    /// In bytes; nil for a stream whose length is not known.
    var length: Int64?
  }

  /// `data`: the body in the request. A middleware may have replaced one that is not in memory.
  private func source(replacedBy data: Data?) throws -> Source {
    if let data { return Source(length: Int64(data.count)) }
    switch body.content {
    case .memory: return Source()
    case .file(let file): return Source(file: file, length: try Self.size(of: file))
    case .stream(let length, let makeStream):
      if let length, length < 0 { throw NetworkError.invalidRequest(reason: "a body of a negative length") }
      return Source(stream: makeStream, length: length)
    case .chunks(let write):
      let file = try assembled.withLock { $0 } ?? NetworkTemporaryFile(write)
      assembled.withLock { $0 = file }
      return Source(file: file.url, length: try Self.size(of: file.url))
    }
  }

  /// The size in bytes. Throws if the file cannot be read, because URLSession on Linux would crash.
  private static func size(of file: URL) throws -> Int64 {
    Int64(try FileHandle.networkReading(file).seekToEnd())
  }
}

// This extends a type of Foundation, so the name must not collide with one of the app.
nonisolated extension FileHandle {
  /// Opens a regular file. Throws if it cannot be read, and for a pipe or a device, from which reading might never end.
  static func networkReading(_ file: URL) throws -> FileHandle {
    let values = try? file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
    guard values?.isRegularFile == true, let handle = try? FileHandle(forReadingFrom: file)
    else { throw TransferError.unusableFile(file, reason: "not a file that can be read") }
    return handle
  }
}
