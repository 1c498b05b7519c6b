import Foundation
import Wynd

/// The call that the options describe.
struct Fetch {
  let options: Options
  private let console: Console

  init(_ options: Options) {
    self.options = options
    console = Console(options)
  }

  func run() async -> Int32 {
    do throws(NetworkError) {
      defer { console.end() }
      if let upload = options.upload { return try await send(upload) }
      if let file { return try await options.isDevice ? copy(to: file) : download(to: file) }
      return try await options.isStream ? stream() : get()
    } catch {
      console.failed(error, options.request, canContinue: file.map(NetworkDownload.hasPartialFile) ?? false)
      // The body of an error is written like that of a success, unless it would go to a file.
      if options.showsErrorBody, options.file == nil, let response = error.response {
        _ = write(head(response) + (error.data ?? Data()))
      }
      switch error {
      case .cancelled: return 130
      case .transferFailed: return 23
      default: return error.statusCode == nil ? 1 : 22
      }
    }
  }

  /// The target of a link is the file.
  private var file: URL? { options.file.map { URL(filePath: $0).absoluteURL.resolvingSymlinksInPath() } }

  private var network: any NetworkPerformer {
    guard let token = options.bearerToken else { return URLSession.shared }
    return NetworkClient(headers: [.authorization(bearer: token)])
  }

  private var policy: RetryPolicy {
    var policy = RetryPolicy.default
    policy.deadline = options.deadline
    policy.onEvent = console.onEvent
    if let maxRetries = options.maxRetries { policy.maxRetries = maxRetries }
    return policy
  }

  private func get() async throws(NetworkError) -> Int32 {
    let response = try await network.networkResponse(
      for: options.request, allowEmptyData: true, policy: policy)
    return write(head(response.response) + response.data)
  }

  private func stream() async throws(NetworkError) -> Int32 {
    let bytes = try await network.networkBytes(for: options.request, policy: policy)
    guard write(head(bytes.response)) == 0 else { return 23 }
    var progress = TransferProgress(completed: 0, total: bytes.total)
    // On a terminal the bar would stand amid the data.
    let showsProgress = isatty(1) != 1
    do {
      for try await data in bytes {
        guard write(data) == 0 else { return 23 }
        progress.completed += Int64(data.count)
        if showsProgress { console.onProgress(progress) }
      }
    } catch {
      throw error as? NetworkError ?? .generalError(error)
    }
    return 0
  }

  private func send(_ body: RequestBody) async throws(NetworkError) -> Int32 {
    let response = try await network.performNetworkUpload(
      options.request, from: body, onProgress: console.onProgress, policy: policy)
    return write(head(response.response) + response.data)
  }

  private func copy(to device: URL) async throws(NetworkError) -> Int32 {
    let data = try await network.performNetworkRequest(options.request, allowEmptyData: true, policy: policy)
    return write(data, to: options.file)
  }

  private func download(to file: URL) async throws(NetworkError) -> Int32 {
    if !options.resumes { NetworkDownload.removePartialFile(for: file) }
    do throws(NetworkError) {
      let download = try await network.performNetworkDownload(
        options.request, to: file,
        options: DownloadOptions(
          overwrites: true, resumes: true, onProgress: console.onProgress,
          validate: options.sha256.map(Checksum.validate)),
        policy: policy)
      return options.showsHead ? write(head(download.response)) : 0
    } catch {
      // As curl does, a success without a body makes an empty file.
      guard options.sha256 == nil, Self.hasNoContent(error) else { throw error }
      do { try Data().write(to: file) } catch { throw .transferFailed(error) }
      return 0
    }
  }

  /// A download has a file or fails, also if the server has nothing to send (204, 205).
  private static func hasNoContent(_ error: NetworkError) -> Bool {
    guard case .transferFailed(TransferError.invalidResponse(let reason)) = error else { return false }
    return ["status 204", "status 205"].contains(reason)
  }

  private func head(_ response: HTTPURLResponse) -> Data {
    guard options.showsHead else { return Data() }
    let fields = response.allHeaderFields.map { "\($0.key): \($0.value)" }.sorted()
    return Data((["HTTP \(response.statusCode)"] + fields + ["", ""]).joined(separator: "\r\n").utf8)
  }

  private func write(_ data: Data, to name: String? = nil) -> Int32 {
    do {
      let target = try name.map { try FileHandle(forWritingTo: URL(filePath: $0)) } ?? .standardOutput
      try target.write(contentsOf: data)
      return 0
    } catch {
      Command.note("wynd-fetch: cannot write to \(name ?? "stdout"): \(error.localizedDescription)")
      return 23
    }
  }
}
