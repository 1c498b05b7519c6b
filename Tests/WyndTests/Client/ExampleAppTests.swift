import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// MARK: A web service, as an app describes it

nonisolated struct Expense: Codable, Sendable, Equatable {
  var id: Int
  var title: String
  var cents: Int
}
nonisolated struct Session: Decodable, Sendable {
  var token: String
  var renewal: String
}

struct Login: Endpoint {
  typealias Response = Session
  var user: String
  var password: String
  var path: String { "/login" }
  var method: NetworkMethod { .post }
  var body: RequestBody { .json(["user": user, "password": password]) }
}
struct Renewal: Endpoint {
  typealias Response = Session
  var renewal: String
  var path: String { "/renew" }
  var method: NetworkMethod { .post }
  var body: RequestBody { .json(["renewal": renewal]) }
}
struct ExpenseList: Endpoint {
  typealias Response = [Expense]
  var path: String { "/expenses" }
}
struct NewExpense: Endpoint {
  typealias Response = Expense
  var title: String
  var cents: Int
  let key = UUID()
  var path: String { "/expenses" }
  var method: NetworkMethod { .post }
  var headers: [NetworkHeader] { [.idempotencyKey("\(key)")] }
  var body: RequestBody { .json(["title": title, "cents": cents]) }
}
extension Endpoint where Self == ExpenseList { static var expenses: Self { ExpenseList() } }
extension Endpoint where Self == NewExpense {
  static func newExpense(_ title: String, cents: Int) -> Self { NewExpense(title: title, cents: cents) }
}

/// The token and the means to renew it are one value, so that they always belong to the same user.
nonisolated struct SignIn: NetworkCredential {
  var session: Session
  var header: NetworkHeader { .authorization(bearer: session.token) }
}

/// The client of such an app, with its sign-in.
final class Expenses: Sendable {
  let client: NetworkClient
  private let authentication: Authentication<SignIn>

  init(_ baseURL: URL, cache: any ResponseStore, onEvent: @escaping @Sendable (NetworkEvent) -> Void) {
    authentication = Authentication(for: baseURL) { old, client in
      SignIn(session: try await client.load(Renewal(renewal: old.session.renewal)))
    }
    client = NetworkClient(
      baseURL: baseURL, on: ResponseCache(cache, servesStaleIfError: true), headers: [.userAgent("Expenses/1.0")],
      policy: RetryPolicy(backoff: .immediate, budget: .unlimited, onEvent: onEvent),
      middleware: [authentication])
  }

  func signIn(_ user: String, _ password: String) async throws(NetworkError) {
    let session = try await client.load(Login(user: user, password: password))
    authentication.signIn(SignIn(session: session), as: user)
  }
  func signOut() { authentication.signOut() }
}

/// The worked example: sign in, list, create, a token that has expired, a list that is shown while offline.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ExampleAppTests {
  final class Service: @unchecked Sendable {
    private let lock = NSLock()
    private var token = 0
    private var expenses = [Expense(id: 1, title: "Lunch", cents: 990)]
    private var keys: [String: Expense] = [:]
    private var isOut = false
    private var failures = 0
    private(set) var renewals = 0

    func expireToken() { lock.withLock { token += 1 } }
    func goOut() { lock.withLock { isOut = true } }
    func fail(_ times: Int) { lock.withLock { failures = times } }

    func response(_ request: LoopbackServer.Request) -> ScriptedResponse {
      lock.withLock {
        if isOut { return .reset }
        switch request.target {
        case "/login":
          return request.text.contains("right") ? .ok(#"{"token":"t\#(token)","renewal":"r0"}"#) : .status(403)
        case "/renew":
          renewals += 1
          return .ok(#"{"token":"t\#(token)","renewal":"r\#(renewals)"}"#)
        default:
          if request.value("Authorization") != "Bearer t\(token)" { return .status(401) }
          if request.method == "POST" { return create(request) }
          let body = (try? JSONEncoder().encode(expenses)).map { String(decoding: $0, as: UTF8.self) } ?? ""
          return .status(200, [("ETag", "\"\(expenses.count)\"")], body: body)
        }
      }
    }

    private func create(_ request: LoopbackServer.Request) -> ScriptedResponse {
      let key = request.value("Idempotency-Key") ?? UUID().uuidString
      if keys[key] == nil, var new = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any] {
        new["id"] = expenses.count + 1
        let data = (try? JSONSerialization.data(withJSONObject: new)) ?? Data()
        guard let expense = try? JSONDecoder().decode(Expense.self, from: data) else { return .status(400) }
        keys[key] = expense
        expenses.append(expense)
      }
      failures -= 1
      // Created, but the response is lost.
      if failures >= 0 { return .reset }
      let body = keys[key].flatMap { try? JSONEncoder().encode($0) } ?? Data()
      return .status(201, body: String(decoding: body, as: UTF8.self))
    }
  }

  @Test func signsInListsCreatesRenewsAndShowsStoredDataOffline() async throws {
    let service = Service()
    let server = try LoopbackServer { service.response($0) }
    let log = EventLog()
    let app = Expenses(server.url(), cache: MemoryStore(), onEvent: log.add)

    // Not signed in yet.
    do throws(NetworkError) {
      _ = try await app.client.load(.expenses)
      Issue.record("no token, but expenses")
    } catch {
      #expect(error.statusCode == 401)
    }
    do throws(NetworkError) { try await app.signIn("ann", "wrong") } catch { #expect(error.statusCode == 403) }
    try await app.signIn("ann", "right")
    #expect(try await app.client.load(.expenses).map(\.title) == ["Lunch"])

    // The responses to the creation are lost twice: one expense is created, not three.
    service.fail(2)
    let taxi = try await app.client.load(.newExpense("Taxi", cents: 2300))
    #expect(taxi == Expense(id: 2, title: "Taxi", cents: 2300))
    #expect(try await app.client.load(.expenses).map(\.title) == ["Lunch", "Taxi"])

    // The token has expired: it is renewed once, and the call succeeds.
    service.expireToken()
    #expect(try await app.client.load(.expenses).count == 2)
    #expect(service.renewals == 1)

    // Offline: the stored list, with the error of the revalidation.
    service.goOut()
    let offline = try await app.client.loadResponse(.expenses, policy: RetryPolicy(maxRetries: 1))
    #expect(offline.source == .cache)
    #expect(offline.value.map(\.title) == ["Lunch", "Taxi"])
    #expect(offline.revalidationError?.urlError != nil)
    var shown: [[Expense]] = []
    await #expect(throws: NetworkError.self) {
      for try await list in app.client.values(of: .expenses, policy: .never) { shown.append(list.value) }
    }
    #expect(shown.map(\.count) == [2])

    // The next user gets none of it.
    app.signOut()
    await #expect(throws: NetworkError.self) { try await app.client.load(.expenses) }
    #expect(log.events.allSatisfy { !$0.description.contains("t0") })
  }
}
