#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  nonisolated extension URLSession {
    /// Whether the session has been invalidated: creating a task on it would crash.
    ///
    /// URLSession has no API for this, so its stored property is read. If a later release stores it elsewhere, every
    /// session counts as valid.
    var isInvalidated: Bool {
      guard let position = Self.positionOfInvalidated else { return false }
      let properties = Mirror(reflecting: self).children
      let index = properties.index(properties.startIndex, offsetBy: position, limitedBy: properties.endIndex)
      guard let index, index < properties.endIndex, properties[index].label == "invalidated" else { return false }
      return properties[index].value as? Bool ?? false
    }

    /// Found once: it takes five times as long to look at all properties.
    private static let positionOfInvalidated: Int? = {
      let properties = Mirror(reflecting: URLSession.shared).children
      return properties.enumerated().first { $0.element.label == "invalidated" }?.offset
    }()
  }
#endif
