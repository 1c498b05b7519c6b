import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// What the reader of a sample has.
let session = URLSession.shared
let url = URL(fileURLWithPath: "/")
let baseURL = url
let file = url
let film = url
let report = url
nonisolated(unsafe) var request = URLRequest(url: url)
func show(_ anything: Any...) {}
func show(_ anything: Any, isOld: Bool) {}
func log(_ text: String) {}

struct Expense: Decodable, Sendable { var amount: Double }
struct Expenses: Endpoint {
  typealias Response = [Expense]
  var path: String { "/expenses" }
}
extension Endpoint where Self == Expenses { static var expenses: Self { Expenses() } }

struct User: Codable, Sendable {
  var id = 1
}
let newUser = User()
let client = NetworkClient()
enum AppNetwork { static let client = NetworkClient() }

struct SignIn: NetworkCredential {
  var renewal: String?
  var header: URLRequest.Header { .authorization(bearer: "") }
  init(_ answer: Data) {}
}
struct Renewal: Endpoint {
  typealias Response = Data
  var path: String { "/renewal" }
  init(_ renewal: String?) {}
}
struct NewToken: Endpoint {
  typealias Response = BearerToken
  var path: String { "/token" }
}
extension Endpoint where Self == NewToken { static func newToken(after old: BearerToken?) -> Self { NewToken() } }

let folder = url
let token = "token"
let text = "text"
let page: Int? = nil
struct Order: Encodable, Sendable {}
let order = Order()
nonisolated(unsafe) var policy = RetryPolicy.default
let cache = ResponseCache(MemoryStore())
let authentication = Authentication(for: url, BearerToken(token)) { _, _ in BearerToken(token) }
struct Parser { func feed(_ data: Data) {} }
let parser = Parser()
struct ProgressView { init(value: Double?) {} }
let progress = TransferProgress(completed: 1, total: 2)
