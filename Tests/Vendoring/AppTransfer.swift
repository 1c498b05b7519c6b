import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// How an app transfers files, in whatever mode it is built.

@MainActor final class FilmModel {
  let session: URLSession
  var transfer: NetworkTransfer?
  var files: [URL] = []
  var share = 0.0

  init(session: URLSession) { self.session = session }

  func download(_ request: URLRequest, to file: URL, token: ResumeToken) {
    let options = DownloadOptions(ifExists: .number, resumeToken: token) { progress in
      Task { @MainActor in self.share = Double(progress.completed) / Double(progress.expected ?? 1) }
    }
    transfer = session.performNetworkDownload(request, to: file, options: options) { result in
      Task { @MainActor in if case .success(let done) = result { self.files.append(done.file) } }
    }
  }

  func everything(_ request: URLRequest, _ file: URL) async throws(NetworkError) {
    let done = try await session.performNetworkDownload(request, to: file)
    files.append(done.file)
    try await session.performNetworkUpload(request, from: .file(file))
    session.performNetworkUpload(request, from: .data(Data())) { _ in }
    try await session.performNetworkUpload(request, from: .bodyStream(length: 1) { InputStream(data: Data([1])) })
    do {
      for try await line in try await session.networkBytes(for: request).lines { print(line) }
      for try await event in session.serverSentEvents(for: request) { print(event.data) }
    } catch {
      throw error as? NetworkError ?? .noResponse
    }
  }
}
