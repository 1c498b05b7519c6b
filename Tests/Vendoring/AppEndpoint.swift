// What a newcomer writes with Endpoint/.
import Foundation
import Models

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated struct User: Codable {
  var name: String
}
nonisolated enum ShopError: Decodable, Swift.Error {
  case closed
}

struct UserItem: Endpoint {
  let id: Int
  var host: String { "example.com" }
  var path: String { "/users/\(id)" }
  func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> User {
    try JSONDecoder().decode(User.self, from: data)
  }
}
struct UserList: Endpoint {
  typealias Response = [User]?
  let host = "example.com"
  let path = "/users"
  var queryItems: [URLQueryItem] { get throws { [URLQueryItem(name: "page", value: "1")] } }
  var headers: [String: String] { ["Authorization": "Bearer t", "X-A": "b"] }
  var method: NetworkMethod { "PURGE" }
}
struct AccountItem: Endpoint {
  typealias Response = Account
  let host = "example.com"
  let path = "/account"
  var body: RequestBody { .json(["a": 1, "b": [nil, "x"] as [String?], "c": ["d": 1, "e": "x"] as NetworkObject]) }
  func prepare(request: inout URLRequest) throws { request.timeoutInterval = 5 }
}
nonisolated protocol ShopCall: Endpoint {}
nonisolated extension ShopCall {
  var host: String { "shop.example.com" }
}
nonisolated struct Order: Encodable {
  var id: Int
}
struct Ordering: ShopCall {
  struct Response: Decodable { var number: Int }
  let order: Order
  let name: String
  let path = "/orders"
  var method: NetworkMethod { .post }
  var body: RequestBody { name.isEmpty ? .json(order) : .json(["name": name, "id": order.id]) }
  var queryItems: [URLQueryItem] {
    var items = [URLQueryItem(name: "name", value: name)]
    if order.id > 3 { items.append(URLQueryItem(name: "id", value: "\(order.id)")) }
    return items
  }
}
struct Call<Response: Decodable & Sendable>: Endpoint {
  let path: String
}
struct HeaderFields: Endpoint {
  typealias Response = Void
  let host = "example.com"
  let path = "/"
  let headers = ["X-A": "b"]
}
struct Complete: Endpoint {
  typealias Response = Void
  let host = "example.com"
  let port: Int? = 8080
  let path = "/complete"
  let method: NetworkMethod = .post
  let headers: [String: String] = ["X-A": "b"]
  let decoder = JSONDecoder()
  let policy: RetryPolicy = .never
  var body: RequestBody { .text("x") }
}
struct Located: Endpoint {
  typealias Response = User
  let path = ""
  let url: URL
}
// As the article writes it: the compiler warns about a member that nearly matches.
nonisolated struct NewUser {
  struct Response: Decodable { var id: Int }
  let name: String
}
nonisolated extension NewUser: Endpoint {
  var path: String { "/users" }
  var method: NetworkMethod { .post }
  var body: RequestBody { .json(["name": name]) }
}
struct PhotoUpload: Endpoint {
  typealias Response = Void
  let photo: URL
  let path = "/photos"
  let method: NetworkMethod = .put
  var body: RequestBody { .file(photo, contentType: "image/jpeg") }
}
extension Endpoint where Self == UserItem {
  static func user(_ id: Int) -> Self { UserItem(id: id) }
}

final class Users {
  var name = ""
  func load() async {
    do throws(NetworkError) {
      name = try await URLSession.shared.load(.user(1)).name
      _ = try await URLSession.shared.loadResponse(UserList()).response.value(forHTTPHeaderField: "X-Total")
    } catch {
      if error.isCancellation { return }
      name = error.serviceError(as: ShopError.self).map { "\($0)" } ?? "\(error)"
    }
  }
  func loadOtherTypes() async throws {
    _ = try await URLSession.shared.load(Call<[User]>(path: "/users"))
    try await URLSession.shared.load(Complete())
    try await URLSession.shared.load(HeaderFields())
    name = try await URLSession.shared.load(Located(url: URL(fileURLWithPath: "/"))).name
  }
  // One kind of call: a URL, a request or an endpoint for every verb.
  func callInEveryWay(_ url: URL) async throws {
    _ = try await URLSession.shared.performNetworkRequest(url, policy: .never)
    _ = try await URLSession.shared.performNetworkRequest(UserItem(id: 1))
    let response = try await URLSession.shared.networkResponse(for: URLRequest(url: url))
    print(response.headers["x-total"] ?? "", response.value(forHTTPHeaderField: "X-Total") ?? "")
    let user = try await URLSession.shared.load(URLRequest(url: url), as: User.self)
    URLSession.shared.load(url, as: [User].self) { result in print(result) }
    let users: [User] = try await URLSession.shared.load(.get(url, query: .encoding(Order(id: 3))))
    let same = try await URLSession.shared.load(.get(url, headers: ["Accept": "a/b"], as: [User].self))
    try await URLSession.shared.load(.post(url, body: .json(user), idempotencyKey: UUID()))
    let head = try await URLSession.shared.load(.head(url)).statusCode
    let allowed: User = try await URLSession.shared.load(.request(.options, url))
    _ = try await URLSession.shared.load(PhotoUpload(photo: url)) { progress in print(progress.completed) }
    URLSession.shared.load(PhotoUpload(photo: url), onProgress: { print($0) }) { result in print(result) }
    print(users, same, head, allowed)
  }
  func loadWithCallback() {
    URLSession.shared.load(.user(1)) { result in print(result) }
    let task = URLSession.shared.load(AccountItem(), policy: RetryPolicy(maxRetries: 2)) { result in
      print((try? result.get())?.name ?? "")
    }
    task.cancel()
  }
}
