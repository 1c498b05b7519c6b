import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A call of one user is never completed with the credential of another.
extension AuthenticationTests {
  @Test func doesNotRetryAfterAnotherUserSignedIn() async throws {
    for user in ["bob", nil] {
      let authentication = Authentication(for: try #require(Self.origin), BearerToken("ann")) { _, _ in
        BearerToken("renewed")
      }
      let script = NetworkScript { _, number in
        if number == 0 { authentication.signInOrOut(user) }
        return number == 0 ? .status(503) : .ok("x")
      }
      let client = Self.client(script, authentication)
      let error = await #expect(throws: NetworkError.self) { try await Self.get(client) }
      #expect(Self.tokens(script) == ["Bearer ann"])
      #expect((Self.reason(error) as? URLError)?.code == .userAuthenticationRequired)
    }
  }

  @Test func keepsRenewalOfTheNewUserWhenAnOlderOneEnds() async throws {
    let (annMay, bobMay, begun) = (Gate(), Gate(), Counter())
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("ann")) { old, _ in
      begun.add()
      await (old.token == "ann" ? annMay : bobMay).wait()
      return BearerToken("\(old.token) renewed")
    }
    let script = NetworkScript { request, _ in
      request.value(forHTTPHeaderField: "Authorization") == "Bearer bob renewed" ? .ok("x") : .status(401)
    }
    let started = Counter()
    let client = Self.client(script, Self.counting(started), authentication)
    let ann = Task { try await Self.get(client) }
    await begun.reaches(1)
    authentication.signIn(BearerToken("bob"))
    let bob = Task { try await Self.get(client) }
    await begun.reaches(2)
    annMay.open()
    await #expect(throws: NetworkError.self) { try await ann.value }
    #expect(authentication.credential == BearerToken("bob"))
    let others = (0..<50).map { _ in Task { try await Self.get(client) } }
    await started.reaches(52)
    // They are about to wait for the renewal of the new user.
    for _ in 0..<10_000 { await Task.yield() }
    bobMay.open()
    for call in [bob] + others { _ = try await call.value }
    #expect(begun.value == 2 && Set(Self.tokens(script).dropFirst(2)) == ["Bearer bob renewed"])
    #expect(authentication.credential == BearerToken("bob renewed"))
  }

  /// A token that is saved late would outlast the sign-out.
  @Test func changesAreReportedOneAfterAnother() async throws {
    let hasSignedOut = DispatchSemaphore(value: 0)
    let (changes, change) = AsyncStream.makeStream(of: String.self)
    let authentication = Authentication<BearerToken>(
      for: try #require(Self.origin),
      onChange: { token, _ in
        if token == nil {
          hasSignedOut.signal()
        } else {
          // A change that comes too early ends the wait.
          _ = hasSignedOut.wait(timeout: .now() + 0.2)
        }
        change.yield(token == nil ? "out" : "in")
      })
    authentication.signIn(BearerToken("a"))
    authentication.signOut()
    var seen: [String] = []
    for await text in changes {
      seen.append(text)
      if seen.count == 2 { break }
    }
    #expect(seen == ["in", "out"])
  }

  /// The error of another credential says nothing about this one.
  @Test(arguments: [nil, Date.distantPast])
  func refusedRenewalOfAnotherCredentialKeepsTheSession(_ expiresAt: Date?) async throws {
    let origin = try #require(Self.origin)
    let other = Authentication(for: origin, BearerToken("b", expiresAt: expiresAt)) { _, _ in
      throw URLError(.userAuthenticationRequired)
    }
    let script = NetworkScript([.status(401)])
    let inner = Self.client(script, other)
    let authentication = Authentication(for: origin, BearerToken("a")) { old, _ in
      _ = try await Self.get(inner)
      return old
    }
    let client = Self.client(script, authentication)
    await #expect(throws: NetworkError.self) { try await Self.get(client) }
    #expect(other.credential == nil && authentication.credential == BearerToken("a"))
  }
}
