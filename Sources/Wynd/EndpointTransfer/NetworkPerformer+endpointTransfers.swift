public import Foundation

nonisolated extension NetworkPerformer {
  /// Downloads the response of an endpoint to a file, as the same call with a request does.
  ///
  /// ```swift
  /// let file = folder.appending(path: "report.pdf")
  /// try await client.performNetworkDownload(.get("/reports/7", as: Data.self), to: file)
  /// ```
  ///
  /// The endpoint makes the request. ``Endpoint/parse(data:response:decoder:)`` is not called, but an error response is decoded
  /// as its ``Endpoint/ServiceError``.
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request. Its body has to be in memory.
  ///   - destination: The URL of a file in an existing folder.
  ///   - options: How to store the file; see ``DownloadOptions``.
  ///   - policy: What it does not set is that of the endpoint's policy, then that of the client's.
  /// - Returns: The file, the last response, and every attempt.
  /// - Throws: ``NetworkError``; a failure that concerns the file is a ``TransferError`` inside `.transferFailed`.
  @discardableResult
  public func performNetworkDownload<E: Endpoint>(
    _ endpoint: E, to destination: URL, options: DownloadOptions = DownloadOptions(),
    policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkDownload {
    let defaults = defaults
    let call = try NetworkEndpointDownload(endpoint, to: destination, options, policy, defaults)
    return try call.end(await begin(call.plan)).get()
  }

  /// Downloads the response of an endpoint to a file, with a completion handler that is called on the session's
  /// `delegateQueue`.
  @discardableResult
  public func performNetworkDownload<E: Endpoint>(
    _ endpoint: E, to destination: URL, options: DownloadOptions = DownloadOptions(),
    policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkDownload, NetworkError>) -> Void
  ) -> NetworkTask {
    do throws(NetworkError) {
      let call = try NetworkEndpointDownload(endpoint, to: destination, options, policy, defaults)
      return begin(call.plan) { completionHandler(call.end($0)) }
    } catch {
      return start(completionHandler) { .failure(error) }
    }
  }

  /// Sends an endpoint with its body, reports the progress, and returns the parsed response. Any
  /// ``RequestBody`` can be uploaded. ``load(_:policy:)`` sends it, too, but without progress.
  ///
  /// ```swift
  /// let uploaded = try await client.performNetworkUpload(
  ///   .post("/photos", body: .file(photo), as: User.self),
  ///   onProgress: { progress in print(progress.completed, progress.total ?? 0) })
  /// show(uploaded.value)
  /// ```
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request and its body, and parses the response.
  ///   - onProgress: Receives the progress, on an internal queue. It starts at 0 for each attempt.
  ///   - policy: What it does not set is that of the endpoint's policy, then that of the client's.
  /// - Returns: The parsed response, with its status code, header fields, body and attempts.
  /// - Throws: ``NetworkError``; a file that cannot be read is a ``TransferError`` inside `.transferFailed`.
  @discardableResult
  public func performNetworkUpload<E: Endpoint>(
    _ endpoint: E, onProgress: (@Sendable (TransferProgress) -> Void)? = nil, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse<E.Response> {
    let defaults = defaults
    let call = try endpoint.call(policy, defaults) { $0.report(to: onProgress) }
    return try await response(of: call, endpoint, defaults)
  }

  /// Sends an endpoint with its body, with a completion handler that is called on the session's `delegateQueue`.
  @discardableResult
  public func performNetworkUpload<E: Endpoint>(
    _ endpoint: E, onProgress: (@Sendable (TransferProgress) -> Void)? = nil, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<E.Response>, NetworkError>) -> Void
  ) -> NetworkTask {
    let defaults = defaults
    do throws(NetworkError) {
      let call = try endpoint.call(policy, defaults) { $0.report(to: onProgress) }
      return start(call, endpoint, defaults, completionHandler)
    } catch {
      return start(completionHandler) { .failure(error) }
    }
  }

  /// Sends the request of an endpoint, and returns the body as it arrives, in chunks, as the same call with a request
  /// does.
  ///
  /// ```swift
  /// for try await line in try await client.networkBytes(for: .get("/log", as: String.self)).lines { print(line) }
  /// ```
  ///
  /// ``Endpoint/parse(data:response:decoder:)`` is not called, but an error response is decoded as the endpoint's
  /// ``Endpoint/ServiceError``.
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request. Its body has to be in memory.
  ///   - policy: What it does not set is that of the endpoint's policy, then that of the client's. The deadline
  ///     applies only until the first byte.
  /// - Returns: The response, with its body as a sequence that can be iterated once.
  /// - Throws: ``NetworkError``, if the call fails before the first byte.
  public func networkBytes<E: Endpoint>(
    for endpoint: E, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkBytes {
    let defaults = defaults
    let plan = try endpoint.transferPlan(policy, defaults)
    do throws(NetworkError) { return try await networkStream(plan, startsWithHead: false) } catch {
      throw endpoint.typed(error, defaults)
    }
  }

  /// The events of a stream (`text/event-stream`) that an endpoint requests, as the same call with a request returns
  /// them.
  ///
  /// ```swift
  /// for try await event in client.serverSentEvents(for: .get("/events", as: Void.self)) { show(event.data) }
  /// ```
  ///
  /// ``Endpoint/parse(data:response:decoder:)`` is not called, but an error response is decoded as the endpoint's
  /// ``Endpoint/ServiceError``.
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request, once for each iteration. Its body has to be in memory.
  ///   - reconnects: Whether to reconnect. `nil` means only after a GET.
  ///   - policy: The retry policy of each connection. What it does not set is that of the endpoint's policy, then that
  ///     of the client's.
  /// - Returns: A sequence. Each iteration opens its own connection.
  public func serverSentEvents<E: Endpoint>(
    for endpoint: E, reconnects: Bool? = nil, policy: RetryPolicy? = nil
  ) -> ServerSentEvents {
    let defaults = defaults
    return ServerSentEvents(
      performer: self, reconnects: reconnects,
      makeCall: { () throws(NetworkError) in try endpoint.transferPlan(policy, defaults) },
      typed: { error in endpoint.typed(error, defaults) })
  }
}

/// The download of an endpoint's response.
nonisolated private struct NetworkEndpointDownload<E: Endpoint>: Sendable {
  let plan: NetworkCallPlan
  private let endpoint: E
  private let download: NetworkDownloadCall
  private let defaults: NetworkDefaults

  init(
    _ endpoint: E, to destination: URL, _ options: DownloadOptions, _ policy: RetryPolicy?,
    _ defaults: NetworkDefaults
  ) throws(NetworkError) {
    self.endpoint = endpoint
    self.defaults = defaults
    let progress = NetworkProgressReporter(options.onProgress)
    download = NetworkDownloadCall(destination: destination, options: options, progress: progress)
    var plan = try endpoint.transferPlan(policy, defaults)
    download.add(to: &plan)
    self.plan = plan
  }

  func end(_ result: RetryLoop.CallResult) -> Result<NetworkDownload, NetworkError> {
    download.end(result).mapError { endpoint.typed($0, defaults) }
  }
}

nonisolated extension Endpoint {
  /// The call of a download or a stream, whose response is not parsed.
  fileprivate func transferPlan(
    _ policy: RetryPolicy?, _ defaults: NetworkDefaults
  ) throws(NetworkError) -> NetworkCallPlan {
    let call = try call(policy, defaults)
    if call.upload != nil {
      throw .invalidRequest(reason: "a download or a stream sends a body in memory: `.data`, `.json`, `.form`, `.text`")
    }
    return call.plan
  }
}
