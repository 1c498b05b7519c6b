import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// How an app transfers files. It is compiled in every build mode.

@MainActor final class FilmModel {
  let network: any NetworkPerformer
  var task: NetworkTask?
  var files: [URL] = []
  var fraction: Double?

  init(network: any NetworkPerformer) { self.network = network }

  func download(_ request: URLRequest, to file: URL) {
    task = network.performNetworkDownload(
      request, to: file, overwrites: true, resumes: true,
      onProgress: { progress in _Concurrency.Task { @MainActor in self.fraction = progress.fraction } }
    ) { result in
      _Concurrency.Task { @MainActor in if case .success(let done) = result { self.files.append(done.value) } }
    }
  }

  /// Each takes a URL, too.
  func everything(from url: URL, _ file: URL) async throws {
    try await network.performNetworkDownload(url, to: file) { progress in print(progress.completed) }
    try await network.performNetworkDownload(url, to: file, validate: { print($0.path) })
    if NetworkPartialDownload.exists(for: file) { NetworkPartialDownload.remove(for: file) }
    try await network.performNetworkUpload(url, from: .file(file)) { progress in print(progress.completed) }
    for try await chunk in try await network.networkBytes(for: url) { print(chunk.count) }
    for try await event in network.serverSentEvents(for: url, policy: .never) { print(event.data) }
  }

  func everything(_ request: URLRequest, _ file: URL) async throws(NetworkError) {
    let done = try await network.performNetworkDownload(request, to: file)
    files.append(done.value)
    try await network.performNetworkUpload(request, from: .file(file))
    network.performNetworkUpload(request, from: .data(Data()), completionHandler: { _ in })
    try await network.performNetworkUpload(request, from: .stream(length: 1) { InputStream(data: Data([1])) })
    do {
      for try await line in try await network.networkBytes(for: request).lines { print(line) }
      for try await event in network.serverSentEvents(for: request) { print(event.data) }
    } catch {
      throw error as? NetworkError ?? .noResponse
    }
  }
}
