// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What the reader of a sample has: a module of its own, so that a sample may declare the same names. With ISOLATED, what shows
// something is isolated to the main actor, as in a new Xcode project. (A default isolation would not reach the samples, because
// it is not part of a module.)
public import Foundation
public import Wynd

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

public let session = URLSession.shared
public let url = URL(fileURLWithPath: "/")
public let baseURL = url
public let file = url
public let film = url
public let photo = url
public let report = url
public let folder = url
nonisolated(unsafe) public var request = URLRequest(url: url)
nonisolated(unsafe) public var search = URLRequest(url: url)
nonisolated(unsafe) public var clear = URLRequest(url: url)
#if ISOLATED
  @MainActor
#endif
public func show(_ anything: Any...) {}
#if ISOLATED
  @MainActor
#endif
public func show(_ anything: Any, isOld: Bool) {}
#if ISOLATED
  @MainActor
#endif
public func showSignIn() {}
#if ISOLATED
  @MainActor
#endif
public func log(_ text: String) {}
public let token = "token"
public let text = "text"
public let name = "name"
public let password = "password"
public let newPassword = "password"
public let page: Int? = nil

// A web service, with a sign-in.
public struct User: Codable, Sendable {
  public var id: Int
  public var name: String
  public init(id: Int, name: String) {
    self.id = id
    self.name = name
  }
}
public let newUser = User(id: 1, name: "Ada")
public struct Problem: Error, Decodable { public var title: String }
public struct Filter: Encodable, Sendable { public var page = 1 }
public let filter = Filter()
public struct Order: Encodable, Sendable {}
public let order = Order()
public struct Expense: Decodable, Sendable { public var amount: Double }
public struct Expenses: Endpoint {
  public typealias Response = [Expense]
  public var path: String { "/expenses" }
}
public struct SignIn: NetworkCredential, Codable {
  public var token: String
  public var refreshToken: String
  public var headers: [String: String] { ["Authorization": "Bearer \(token)"] }
}
public struct SignInCall: Endpoint {
  public typealias Response = SignIn
  public var path: String { "/sign-in" }
}
public struct NewToken: Endpoint {
  public typealias Response = SignIn
  public var path: String { "/token" }
}
extension Endpoint where Self == Expenses { public static var expenses: Self { Expenses() } }
extension Endpoint where Self == SignInCall {
  public static func signIn(_ name: String, _ password: String) -> Self { SignInCall() }
}
extension Endpoint where Self == NewToken {
  public static func newToken(_ refreshToken: String) -> Self { NewToken() }
}
public enum Keychain {
  public static func save(_ signIn: SignIn?) {}
  public static func load() -> SignIn? { nil }
}
public let keychain = Keychain.self

nonisolated(unsafe) public var policy = RetryPolicy.default
public let cache = ResponseCache()
// A store of the app's own.
public actor Responses {
  public init() {}
  public func response(to request: URLRequest) -> NetworkResponse<Data>? { nil }
  public func store(_ response: NetworkResponse<Data>, for request: URLRequest) {}
}
public let authentication = Authentication<SignIn>(for: url) { old, _ in old }
public let client = NetworkClient(baseURL: baseURL, on: cache, middleware: [authentication])
public enum AppNetwork { public static let client = NetworkClient() }
#if ISOLATED
  @MainActor
#endif
public enum UserSettings {
  public static var isOffline: Bool { false }
  public static let key = "key"
}
public let newKey = "key"
public struct Stopwatch: NetworkMiddleware {
  public init() {}
  public func respond(
    to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data> { try await next(request) }
}
public struct Logger: Sendable {
  public enum Level: String, Sendable { case debug, info, notice, error }
  public func log(level: Level, _ text: String) {}
}
public let logger = Logger()
public struct ProgressView { public init(value: Double?) {} }
public let progress = TransferProgress(completed: 1, total: 2)
public let data = Data()
public struct Parser: Sendable { public func feed(_ data: Data) {} }
public let parser = Parser()
