import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Who is signed in for a call. All its attempts and connections share it, so that none is sent with the credential of
/// another user.
nonisolated struct NetworkSignedInUsers: Sendable {
  /// For each `Authentication`, the number of the sign-in whose credential the call uses; 0 without a credential.
  private let numbers: NetworkLock<[ObjectIdentifier: Int]>

  /// The users of a client at the start of a call, with those of the client that it is made on. A middleware may still
  /// sign in a user where nobody is.
  init(of middleware: [any NetworkMiddleware], and others: Self?) {
    var numbers = others?.numbers.withLock { $0 } ?? [:]
    for case let user as any NetworkUser in middleware where user.signInNumber != 0 {
      numbers[ObjectIdentifier(user)] = user.signInNumber
    }
    self.numbers = NetworkLock(numbers)
  }

  /// The number of the sign-in that the call uses. With the first request, it is the current one, even if that is 0.
  func number(of authentication: ObjectIdentifier, current: Int) -> Int {
    numbers.withLock { numbers in
      let number = numbers[authentication] ?? current
      numbers[authentication] = number
      return number
    }
  }
}

/// A middleware that adds the credential of a user.
nonisolated protocol NetworkUser: AnyObject, Sendable {
  /// The number of the sign-in; 0 if nobody is signed in.
  var signInNumber: Int { get }
  /// The name of the user, if the app has set it.
  var account: String? { get }
}

/// Notes whether a middleware has added a credential of which a cache cannot know whose it is. A cache adds the note to
/// each call.
nonisolated struct NetworkCredentialNote: Sendable {
  private let added = NetworkLock(false)

  var wasAdded: Bool { added.withLock { $0 } }

  /// Compares a request with what it was before these middleware.
  func note(_ request: URLRequest, before: URLRequest, _ middleware: [any NetworkMiddleware]) {
    if middleware.contains(where: { $0.cacheScope(of: request) != nil }) { return }
    let names = middleware.secretFields
    let isAdded = (request.allHTTPHeaderFields ?? [:]).contains { name, value in
      NetworkSensitiveHeader.matches(name, value, known: names) && before.value(forHTTPHeaderField: name) != value
    }
    if isAdded { added.withLock { $0 = true } }
  }
}
