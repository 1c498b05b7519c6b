import Foundation
import Observation
import SwiftUI
import Wynd

// A screen: a list, pull to refresh, sign-in, and the stored list while the server cannot be reached. Needs iOS 17.

nonisolated struct Expense: Decodable, Identifiable { let id: Int; let title: String }

@Observable @MainActor final class Expenses {
  private(set) var list: [Expense] = []
  private(set) var note: String?
  var needsSignIn = false
  private let authentication: Authentication<BearerToken>
  private let client: NetworkClient

  init(_ url: URL, on session: any NetworkSendingPerformer = URLSession.shared) {
    authentication = Authentication(for: url)  // with `onChange:` that saves the token, it is there after a launch, too
    let cache = ResponseCache(servesStaleIfError: true, on: session)
    client = NetworkClient(baseURL: url, on: cache, policy: .interactive, middleware: [authentication])
  }

  func load(refreshing: Bool = false) async {
    do {
      let fields = refreshing ? ["Cache-Control": "no-cache"] : [:]
      let response = try await client.loadResponse(.get("/expenses", headers: fields, as: [Expense].self))
      list = response.value
      note = response.revalidationError.map { "Not up to date: \($0.localizedDescription)" }
    } catch {
      needsSignIn = error.statusCode == 401
      if !needsSignIn, !error.isCancellation { note = error.localizedDescription }
    }
  }

  func signIn(_ name: String, _ password: String) async {
    do {
      let body = RequestBody.json(["name": name, "password": password])
      authentication.signIn(try await client.load(.post("/token", body: body, as: BearerToken.self)), as: name)
      needsSignIn = false
      await load()
    } catch {
      if !error.isCancellation { note = error.localizedDescription }
    }
  }
}

struct ExpenseList: View {
  @State private var expenses: Expenses
  @State private var name = ""
  @State private var password = ""
  init(_ url: URL) { _expenses = State(initialValue: Expenses(url)) }

  var body: some View {
    List(expenses.list) { Text($0.title) }
      .refreshable { await expenses.load(refreshing: true) }
      .task { await expenses.load() }  // leaving the screen cancels the call
      .overlay(alignment: .bottom) { if let note = expenses.note { Text(note) } }
      .sheet(isPresented: $expenses.needsSignIn) {
        Form {
          TextField("Name", text: $name)
          SecureField("Password", text: $password)
          Button("Sign in") { Task { await expenses.signIn(name, password) } }
        }
      }
  }
}
