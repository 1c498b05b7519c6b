// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
import Foundation

// [doc] urlprotocol/registerclass(_:): URLSession.shared asks a registered class about each of its requests; other sessions
// ask those of `protocolClasses`. This model asks, and sends every request itself: a class that answers true is not used.
open class URLProtocol: NSObject {
  private static let lock = NSLock()
  nonisolated(unsafe) private static var classes: [URLProtocol.Type] = []

  open class func canInit(with request: URLRequest) -> Bool { false }

  @discardableResult open class func registerClass(_ protocolClass: URLProtocol.Type) -> Bool {
    lock.withLock { classes.append(protocolClass) }
    return true
  }

  static func ask(about request: URLRequest, on session: URLSession) {
    guard session === URLSession.shared else { return }
    for registered in lock.withLock({ classes }) { _ = registered.canInit(with: request) }
  }
}
