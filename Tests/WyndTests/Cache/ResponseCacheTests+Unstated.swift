import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response whose server states no lifetime and sends no validator, as most APIs do (RFC 9111 §3, §4.2.4).
extension ResponseCacheTests {
  /// When a stored response is served without the server.
  enum Serving: String, CaseIterable { case insteadOfError, onRequest, valuesFirst }

  /// The header fields of a response, and where it is served while the server cannot be reached or fails.
  struct Head: Sendable, CustomTestStringConvertible {
    var fields: [String: String]
    var served: Set<Serving>
    var testDescription: String { fields.map { "\($0.key): \($0.value)" }.sorted().joined(separator: ", ") }
  }
  static let everywhere = Set(Serving.allCases)
  static let heads: [Head] = [
    Head(fields: [:], served: everywhere),
    Head(fields: ["Cache-Control": "private"], served: everywhere),
    Head(fields: ["Cache-Control": "max-age=0"], served: everywhere),
    Head(fields: ["Cache-Control": "max-age=0, stale-if-error=600"], served: everywhere),
    Head(fields: ["Expires": "0"], served: everywhere),
    Head(fields: ["ETag": "\"1\""], served: everywhere),
    Head(fields: ["Vary": "Accept"], served: everywhere),
    // Not in place of an error. An app that asks for what is stored gets it.
    Head(fields: ["Cache-Control": "no-cache"], served: [.onRequest, .valuesFirst]),
    Head(fields: ["Cache-Control": "max-age=0, must-revalidate"], served: [.onRequest, .valuesFirst]),
    Head(fields: ["Cache-Control": "no-store"], served: []),
    // Meant as `no-store`, whatever the server wrote around it.
    Head(fields: ["Cache-Control": "no-cache; no-store"], served: []),
    Head(fields: ["Cache-Control": "private no-store"], served: []),
    Head(fields: ["Cache-Control": "max-age=60;no-store"], served: []),
    Head(fields: ["Cache-Control": "no-store max-age=60"], served: []),
    Head(fields: ["Cache-Control": "max-age=60, No-Store\u{A0}"], served: []),
    Head(fields: ["Cache-Control": "private=\"a\" no-store"], served: []),
    Head(fields: ["Cache-Control": "max-age=60,\u{2028}no-store"], served: []),
    Head(fields: ["Cache-Control": "no-store\u{7F}"], served: []),
    Head(fields: ["Cache-Control": "no-store\u{301}"], served: []),
  ]

  @Test(arguments: heads, [Step.failure(.notConnectedToInternet), .status(503)])
  func servesWhatIsStoredWhileTheServerIsAway(_ head: Head, _ failure: Step) async throws {
    for serving in Serving.allCases {
      let cached = CachedClient([.ok("old", headers: head.fields), failure], stale: serving == .insteadOfError)
      #expect(try await cached.get().text == "old")
      var texts: [String] = []
      switch serving {
      case .insteadOfError: texts = [try? await cached.get().text].compactMap { $0 }
      case .onRequest:
        var request = try Self.request()
        request.cachePolicy = .returnCacheDataElseLoad
        texts = [try? await cached.response(request).text].compactMap { $0 }
      case .valuesFirst:
        do {
          for try await value in cached.client.values(of: Text()) { texts.append(value.value) }
        } catch {}
      }
      #expect(texts == (head.served.contains(serving) ? ["old"] : []), "\(serving)")
    }
  }

  /// It is stale at once: a normal call asks the server, as it would without a cache.
  @Test(arguments: heads.filter { $0.fields["ETag"] == nil })
  func requestsAStaleResponseWithoutAValidatorAsItIs(_ head: Head) async throws {
    let cached = CachedClient([.ok("old", headers: head.fields), .ok("new", headers: head.fields)])
    _ = try await cached.get()
    #expect(try await cached.get() == ("new", .network))
    let fields = cached.script.requests.map { $0.allHTTPHeaderFields ?? [:] }
    #expect(fields[1] == fields[0] && fields[1]["If-None-Match"] == nil)
  }

  /// Without a network, the renewal of the credential is not retried, and the stored response is there at once.
  @Test(arguments: [Step.failure(.notConnectedToInternet), .status(503)])
  func servesAStaleResponseAtOnceIfTheRenewalFails(_ failure: Step) async throws {
    let script = NetworkScript { _, number in number == 0 ? .ok("old") : failure }
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old"), as: "ann") { _, client in
      try await client.load(.post("/token", body: .empty, as: BearerToken.self))
    }
    let cached = CachedClient(script, stale: true, policy: RetryPolicy(), middleware: [authentication])
    #expect(try await cached.get() == ("old", .network))
    authentication.signIn(BearerToken("old", expiresAt: .distantPast), as: "ann")
    #expect(try await cached.get() == ("old", .cache))
    #expect(script.elapsed == .zero && script.requests.count == 2)
  }

  /// The name of a directive is trimmed of spaces and tabs only: other white space is a mistake, after which nothing is
  /// fresh. A quoted string may contain anything.
  @Test(arguments: [
    ("max-age=60, ext=\"a<b\"", true), ("ext=\"<\", max-age=60", true), ("max-age=60, ext=<b", false),
    ("\tmax-age=60 ", true), ("\u{A0}max-age=60", false), ("max-age=60, \u{2003}no-store", false),
  ])
  func readsDirectivesAsWritten(_ control: String, isFresh: Bool) async throws {
    let cached = CachedClient([.ok("one", headers: ["Cache-Control": control]), .ok("two")])
    _ = try await cached.get()
    #expect(try await cached.get().text == (isFresh ? "one" : "two"))
  }
}
