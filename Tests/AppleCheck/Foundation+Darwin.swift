// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Of ObjectiveC and Darwin, which Foundation exports.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
public struct pthread_mutex_t {}
public func pthread_mutex_init(_ mutex: UnsafeMutablePointer<pthread_mutex_t>, _ attributes: UnsafeRawPointer?) -> Int32
{
  0
}
@discardableResult public func pthread_mutex_lock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> Int32 { 0 }
@discardableResult public func pthread_mutex_unlock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> Int32 { 0 }
public typealias mode_t = UInt16
public func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { 0 }
public var AF_INET: Int32 { 2 }
public var AF_INET6: Int32 { 30 }
public func inet_pton(_ family: Int32, _ text: String, _ address: UnsafeMutableRawPointer?) -> Int32 { 0 }
public var O_RDONLY: Int32 { 0 }
public var O_WRONLY: Int32 { 1 }
public var O_RDWR: Int32 { 2 }
public var O_CREAT: Int32 { 0x200 }
public var O_EXCL: Int32 { 0x800 }
public var O_NOFOLLOW: Int32 { 0x100 }
public var O_NONBLOCK: Int32 { 4 }
public var O_CLOEXEC: Int32 { 0x100_0000 }
public func rename(_ old: String, _ new: String) -> Int32 { 0 }
public func link(_ old: String, _ new: String) -> Int32 { 0 }
@discardableResult public func unlink(_ path: String) -> Int32 { 0 }
public func mkdir(_ path: String, _ mode: mode_t) -> Int32 { 0 }
public func geteuid() -> UInt32 { 0 }
public func access(_ path: String, _ mode: Int32) -> Int32 { 0 }
public var F_OK: Int32 { 0 }
public var W_OK: Int32 { 2 }
public var errno: Int32 { 0 }
public var EEXIST: Int32 { 17 }
public var EWOULDBLOCK: Int32 { 35 }
public var LOCK_EX: Int32 { 2 }
public var LOCK_NB: Int32 { 4 }
public func flock(_ descriptor: Int32, _ operation: Int32) -> Int32 { 0 }
