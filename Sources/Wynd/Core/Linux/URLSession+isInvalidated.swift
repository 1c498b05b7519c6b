#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import FoundationNetworking

  nonisolated extension URLSession {
    /// Makes a task, unless the session has been invalidated: URLSession would stop the process.
    ///
    /// An invalidation that another thread makes between the check and the creation, within a microsecond, is not
    /// noticed. So this is only called while the app is inside the call.
    func unlessInvalidated(_ makeTask: () -> URLSessionDataTask) -> URLSessionDataTask? {
      // `finishTasksAndInvalidate()` is carried out on this queue, after it has returned.
      let workQueue = stored(Self.workQueue) as? DispatchQueue
      let isInvalidated = workQueue?.sync { self.isInvalidated } ?? self.isInvalidated
      return isInvalidated ? nil : makeTask()
    }

    /// Whether the session has been invalidated, as far as URLSession has begun to carry that out.
    ///
    /// URLSession has no API for this, so its stored properties are read. If a later release stores them elsewhere,
    /// every session counts as valid.
    var isInvalidated: Bool { stored(Self.invalidated) as? Bool ?? false }

    private func stored(_ property: StoredProperty?) -> Any? {
      guard let property else { return nil }
      let properties = Mirror(reflecting: self).children
      let index = properties.index(properties.startIndex, offsetBy: property.position, limitedBy: properties.endIndex)
      guard let index, index < properties.endIndex, properties[index].label == property.name else { return nil }
      return properties[index].value
    }

    private nonisolated struct StoredProperty: Sendable {
      let name: String
      let position: Int

      /// The position is found once: it takes five times as long to look at all properties.
      init?(_ name: String) {
        let properties = Mirror(reflecting: URLSession.shared).children
        guard let position = properties.enumerated().first(where: { $0.element.label == name })?.offset else {
          return nil
        }
        self.name = name
        self.position = position
      }
    }
    private static let invalidated = StoredProperty("invalidated")
    private static let workQueue = StoredProperty("workQueue")
  }
#endif
