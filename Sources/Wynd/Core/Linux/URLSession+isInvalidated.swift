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
      // Each property is read from the session when it is asked for. One mirror is enough, and takes most of the time.
      let properties = Mirror(reflecting: self).children
      // `finishTasksAndInvalidate()` is carried out on this queue, after it has returned.
      let workQueue = Self.workQueue?.value(in: properties) as? DispatchQueue
      let isInvalidated = workQueue?.sync { Self.isInvalidated(properties) } ?? Self.isInvalidated(properties)
      return isInvalidated ? nil : makeTask()
    }

    /// Whether the session has been invalidated, as far as URLSession has begun to carry that out.
    ///
    /// URLSession has no API for this, so its stored properties are read. If a later release stores them elsewhere,
    /// every session counts as valid.
    var isInvalidated: Bool { Self.isInvalidated(Mirror(reflecting: self).children) }

    private static func isInvalidated(_ properties: Mirror.Children) -> Bool {
      invalidated?.value(in: properties) as? Bool ?? false
    }

    /// Where a stored property is found. Unchecked: an index into the children of a mirror is a number in a box that
    /// does not change.
    private nonisolated struct StoredProperty: @unchecked Sendable {
      let name: String
      let position: Int
      let index: Mirror.Children.Index

      /// The index is found once: it takes five times as long to look at all properties.
      init?(_ name: String) {
        let properties = Mirror(reflecting: URLSession.shared).children
        guard let position = properties.enumerated().first(where: { $0.element.label == name })?.offset else {
          return nil
        }
        self.name = name
        self.position = position
        index = properties.index(properties.startIndex, offsetBy: position)
      }

      /// Nil if the session is of a subclass, whose properties are others.
      func value(in properties: Mirror.Children) -> Any? {
        guard position < properties.count else { return nil }
        let property = properties[index]
        return property.label == name ? property.value : nil
      }
    }
    private static let invalidated = StoredProperty("invalidated")
    private static let workQueue = StoredProperty("workQueue")
  }
#endif
