import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the clients that a call passes add to it.
nonisolated struct NetworkClientValues: Sendable {
  /// The names of the header fields in which the clients send a secret.
  var secretFields: Set<String> = []
  /// Identify the users whose credentials the clients add to a request.
  var cacheScopes: [@Sendable (URLRequest) -> String?] = []
}

nonisolated extension NetworkCallPlan {
  var ofClients: NetworkClientValues {
    get { values[NetworkClientValues.self] ?? NetworkClientValues() }
    set { values[NetworkClientValues.self] = newValue }
  }
}

/// Notes whether a middleware has added a credential of which a cache cannot know whose it is.
nonisolated struct NetworkUnknownCredential: Sendable {
  private let added = NetworkLock(false)

  var wasAdded: Bool { added.withLock { $0 } }

  /// Compares a request with what it was before these middleware.
  func note(_ request: URLRequest, before: URLRequest, _ middleware: [any NetworkMiddleware]) {
    if middleware.contains(where: { $0.cacheScope(of: request) != nil }) { return }
    let names = middleware.reduce(into: Set<String>()) { $0.formUnion($1.secretFields) }
    let isAdded = (request.allHTTPHeaderFields ?? [:]).contains { name, value in
      NetworkSensitiveHeader.matches(name, value, known: names) && before.value(forHTTPHeaderField: name) != value
    }
    if isAdded { added.withLock { $0 = true } }
  }
}

/// Who is signed in for a call. All its attempts and connections share it, so that none is sent with the credential of
/// another user.
nonisolated struct NetworkSignedInUsers: Sendable {
  /// For each `Authentication`, the number of the sign-in whose credential the call uses; 0 without a credential.
  private let numbers: NetworkLock<[ObjectIdentifier: Int]>

  /// The users of a client at the start of a call, with those of the client that it is made on. A middleware may still
  /// sign in a user where nobody is.
  init(_ users: [any NetworkUser], and others: Self?) {
    var numbers = others?.numbers.withLock { $0 } ?? [:]
    for user in users where user.currentSignIn != 0 { numbers[ObjectIdentifier(user)] = user.currentSignIn }
    self.numbers = NetworkLock(numbers)
  }

  /// The number of the sign-in that the call uses. With the first request, it is the current one, even if that is 0.
  func signIn(of authentication: ObjectIdentifier, current: Int) -> Int {
    numbers.withLock { numbers in
      let number = numbers[authentication] ?? current
      numbers[authentication] = number
      return number
    }
  }
}
