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
