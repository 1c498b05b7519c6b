import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One call of the command.
struct Fetch {
  let options: Options
  private let console: Console

  init(_ options: Options) {
    self.options = options
    console = Console(isQuiet: options.isQuiet, isJSON: options.isJSON)
  }

  func run() async -> Int32 {
    do throws(NetworkError) {
      if let upload = options.upload { return try await send(URL(filePath: upload)) }
      if let file = options.file { return try await download(to: file) }
      return try await options.isStream ? stream() : get()
    } catch {
      console.end()
      console.failed(error, options.request)
      // What an error's body says belongs to the answer, unless the answer belongs to a file.
      if options.file == nil, let response = error.response { _ = write(head(response) + (error.data ?? Data())) }
      switch error {
      case .cancelled: return 130
      case .transferFailed: return 23
      default: return error.statusCode == nil ? 1 : 22
      }
    }
  }

  private var policy: RetryPolicy {
    var policy = RetryPolicy.default
    policy.deadline = options.deadline
    policy.onEvent = console.tell
    if let maxRetries = options.maxRetries { policy.maxRetries = maxRetries }
    return policy
  }

  private func get() async throws(NetworkError) -> Int32 {
    let answer = try await URLSession.shared.networkResponse(
      for: options.request, allowEmptyData: true, policy: policy)
    return write(head(answer.response) + answer.data)
  }

  private func stream() async throws(NetworkError) -> Int32 {
    let bytes = try await URLSession.shared.networkBytes(for: options.request, policy: policy)
    guard write(head(bytes.response)) == 0 else { return 23 }
    var progress = TransferProgress(completed: 0, total: bytes.total)
    // A bar amid the data would be part of neither.
    let showsProgress = isatty(1) != 1
    do {
      for try await data in bytes {
        guard write(data) == 0 else { return 23 }
        progress.completed += Int64(data.count)
        if showsProgress { console.progress(progress) }
      }
    } catch {
      throw error as? NetworkError ?? .generalError(error)
    }
    console.end()
    return 0
  }

  private func send(_ file: URL) async throws(NetworkError) -> Int32 {
    let answer = try await URLSession.shared.performNetworkUpload(
      options.request, from: .file(file), options: UploadOptions(onProgress: console.progress), policy: policy)
    console.end()
    return write(head(answer.response) + answer.data)
  }

  private func download(to name: String) async throws(NetworkError) -> Int32 {
    // What a link points to is the file.
    let file = URL(filePath: name).absoluteURL.resolvingSymlinksInPath()
    if options.isDevice {
      let answer = try await URLSession.shared.performNetworkRequest(
        options.request, allowEmptyData: true, policy: policy)
      return write(answer, to: name)
    }
    if !options.resumes { NetworkDownload.removePartialFile(for: file) }
    do throws(NetworkError) {
      let done = try await URLSession.shared.performNetworkDownload(
        options.request, to: file,
        options: DownloadOptions(
          overwrites: true, resumes: true, onProgress: console.progress,
          validate: options.sha256.map(Checksum.validate)),
        policy: policy)
      console.end()
      return options.showsHead ? write(head(done.response)) : 0
    } catch {
      console.end()
      if NetworkDownload.hasPartialFile(for: file) {
        console.say("wynd: what has come is kept; the same command with -C goes on from there")
      }
      throw error
    }
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
      Command.note("wynd: cannot write to \(name ?? "stdout"): \(error.localizedDescription)")
      return 23
    }
  }
}
