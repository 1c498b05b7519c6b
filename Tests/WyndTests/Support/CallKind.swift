import Foundation
import Wynd

/// The kinds of a call, for tests of what all of them have in common.
enum CallKind: String, CaseIterable, Sendable {
  case request, client, download, upload, stream

  static let ofASession: [CallKind] = [.request, .download, .upload, .stream]
  static let transfers: [CallKind] = [.download, .upload, .stream]

  /// Makes a call of this kind, and reads its response to the end.
  @discardableResult func response(
    to request: some NetworkRequestConvertible, on performer: any NetworkPerformer, policy: RetryPolicy = .default,
    uploading body: RequestBody = .text("body")
  ) async throws -> NetworkResponse<Data> {
    switch self {
    case .request: return try await performer.networkResponse(for: request, policy: policy)
    case .client: return try await NetworkClient(on: performer).networkResponse(for: request, policy: policy)
    case .upload: return try await performer.performNetworkUpload(request, from: body, policy: policy)
    case .download:
      let folder = try Folder()
      let file = try await performer.performNetworkDownload(request, to: folder.file(), policy: policy)
      return NetworkResponse(data: try Data(contentsOf: file.value), response: file.response)
    case .stream:
      let bytes = try await performer.networkBytes(for: request, policy: policy)
      let data = try await bytes.collected().reduce(into: Data()) { $0 += $1 }
      return NetworkResponse(data: data, response: bytes.response)
    }
  }
}

extension AsyncSequence {
  /// All elements.
  func collected() async throws -> [Element] {
    var elements: [Element] = []
    for try await element in self { elements.append(element) }
    return elements
  }
}
