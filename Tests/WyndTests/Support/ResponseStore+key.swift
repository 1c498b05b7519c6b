@testable import Wynd

/// One entry of a store, without a call.
extension ResponseStore {
  func response(for key: ResponseKey) async -> StoredResponse? {
    state.withLock { state in
      guard case .response(let response) = state.storage.entry(for: key) else { return nil }
      return response
    }
  }

  func store(_ response: StoredResponse, for key: ResponseKey) async {
    state.withLock { $0.storage.insert(.response(response), for: key) }
  }

  func remove(_ key: ResponseKey) async { state.withLock { $0.storage.remove(key) } }
}
