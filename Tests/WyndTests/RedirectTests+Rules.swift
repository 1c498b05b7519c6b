import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RedirectTests {
  // MARK: Which header fields stay behind

  static let credentialFields = [
    "Authorization", "Proxy-Authorization", "X-Authorization", "WWW-Authenticate", "X-Auth", "X-Auth-Token",
    "XAuthToken",
    "X-Auth-Key", "authtoken", "oauth", "X-OAuth2", "Cookie", "Set-Cookie", "Cookie2", "X-Cookies", "X-Api-Key",
    "X-ApiKey", "apikey", "APIKey", "api_key", "X-Key", "X-Api-Keys", "X-Access-Token", "accessToken",
    "X-Amz-Security-Token",
    "X-CSRF-Token", "X-Token", "Tokens", "X-Secret", "Client-Secret", "clientsecret", "X-Password", "X-Passwd",
    "X-Passphrase", "X-Credential", "X-Credentials", "X-Amz-Credential", "X-Session", "X-Session-Id", "sessionid",
    "PHPSESSID", "JSESSIONID", "sid", "X-Signature", "X-Amz-Signature", "X-Jwt", "X-Jwt-Assertion", "sig", "pwd", "pin",
    "X-Otp", "assertion", "x-access-key", "secretkey",
  ]
  static let ordinaryFields = [
    "X-Author", "X-Authority", "X-Keyboard", "X-Monkey", "X-Turkey", "X-Keynote", "X-Pinned", "X-Design", "X-Tokenizer",
    "X-Secretary", "X-Client-Version", "Accept", "Accept-Language", "User-Agent", "X-Request-Id", "Idempotency-Key",
    "X-Idempotency-Key", "Referer", "X-Passenger", "X-Spinner", "X-Sidebar",
  ]

  @Test func onlyFieldsThatNameACredentialStayBehind() async throws {
    let other = try LoopbackServer(script: .ok())
    let server = try LoopbackServer(script: .redirect(to: other.url().absoluteString))
    // One field a call: some of these names differ only in their case.
    for name in Self.credentialFields + Self.ordinaryFields {
      var request = URLRequest(url: server.url())
      request.setValue("v-1", forHTTPHeaderField: name)
      _ = try await session.performNetworkRequest(request)
      #expect(server.requests.last?.value(name) == "v-1", "\(name)")
      #expect(other.requests.last?.value(name) == (Self.credentialFields.contains(name) ? nil : "v-1"), "\(name)")
    }
    #expect(other.requests.count == Self.credentialFields.count + Self.ordinaryFields.count)
  }

  @Test func aValueThatBeginsWithASchemeStaysBehindWhateverItsName() async throws {
    let other = try LoopbackServer(script: .ok())
    let server = try LoopbackServer(script: .redirect(to: other.url().absoluteString))
    for value in ["Bearer T", "bearer T", "Basic dTpw", "Digest username=u", "BASIC dTpw"] {
      var request = URLRequest(url: server.url())
      request.setValue(value, forHTTPHeaderField: "X-Custom")
      _ = try await session.performNetworkRequest(request)
      #expect(other.requests.last?.value("X-Custom") == nil, "\(value)")
    }
    var request = URLRequest(url: server.url())
    request.setValue("Basically this", forHTTPHeaderField: "X-Custom")
    _ = try await session.performNetworkRequest(request)
    #expect(other.requests.last?.value("X-Custom") == "Basically this")
  }

  /// The same address by another name, and the same name with another port, are other origins.
  @Test func anotherHostOrPortIsAnotherOrigin() async throws {
    let other = try LoopbackServer(script: .ok())
    let server = try LoopbackServer { request in
      switch request.target {
      case "/host": .redirect(to: "http://localhost:\(request.value("X-Port") ?? "")/end")
      case "/port": .redirect(to: other.url().absoluteString)
      case "/same": .redirect(to: "HTTP://127.0.0.1:\(request.value("X-Port") ?? "")/end")
      default: .ok()
      }
    }
    for (path, stays) in [("/host", false), ("/port", false), ("/same", true)] {
      var request = URLRequest(url: server.url(path))
      request.setValue("Bearer T", forHTTPHeaderField: "Authorization")
      request.setValue("K", forHTTPHeaderField: "X-Api-Key")
      request.setValue("\(server.port)", forHTTPHeaderField: "X-Port")
      _ = try await session.performNetworkRequest(request)
      let last = try #require(path == "/port" ? other.requests.last : server.requests.last)
      #expect(last.target == (path == "/port" ? "/" : "/end"))
      #expect(last.value("Authorization") == (stays ? "Bearer T" : nil), "\(path)")
      #expect(last.value("X-Api-Key") == (stays ? "K" : nil), "\(path)")
      #expect(last.value("X-Port") == "\(server.port)")
    }
  }

  /// Each hop is compared with the one before it: the last two are one origin, which never had the credential.
  @Test func aCredentialThatStayedBehindIsNotAddedOnALaterHop() async throws {
    let other = try LoopbackServer { $0.target == "/b" ? .redirect(to: "/c") : .ok() }
    let server = try LoopbackServer(script: .redirect(to: other.url("/b").absoluteString))
    var request = URLRequest(url: server.url("/a"))
    for (name, value) in Self.secrets { request.setValue(value, forHTTPHeaderField: name) }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["X-Session-Token": "S", "X-Plain": "1"]
    _ = try await URLSession(configuration: configuration).performNetworkRequest(request)
    #expect(other.requests.map(\.target) == ["/b", "/c"])
    for hop in other.requests {
      for name in Self.secrets.keys { #expect(hop.value(name) == nil, "\(name)") }
      #expect(hop.value("X-Session-Token") ?? "" == "")
      #expect(hop.value("X-Plain") == "1")
    }
  }

  /// Within an origin the session's own header fields are sent on each hop.
  @Test func fieldsOfTheSessionStayWithTheOrigin() async throws {
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: "/b") : .ok() }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["authorization": "Bearer S", "X-Api-Key": "K"]
    _ = try await URLSession(configuration: configuration).performNetworkRequest(server.url("/a"))
    #expect(server.requests.map { $0.value("Authorization") } == ["Bearer S", "Bearer S"])
    #expect(server.requests.map { $0.value("X-Api-Key") } == ["K", "K"])
  }

  // MARK: Method and body, each status with each method

  /// RFC 9110 §15.4: what a method becomes after 301 and 302, after 303, after 307 and 308.
  static let next: [(method: String, found: String, seeOther: String, temporary: String)] = [
    ("GET", "GET", "GET", "GET"), ("HEAD", "HEAD", "HEAD", "HEAD"), ("POST", "GET", "GET", "POST"),
    ("PUT", "PUT", "GET", "PUT"), ("PATCH", "PATCH", "GET", "PATCH"), ("DELETE", "DELETE", "GET", "DELETE"),
    ("OPTIONS", "OPTIONS", "GET", "OPTIONS"),
  ]

  @Test(arguments: [301, 302, 303, 307, 308]) func eachMethodGoesOnAsTheStandardSays(_ status: Int) async throws {
    let other = try LoopbackServer(script: .ok())
    let server = try LoopbackServer { request in
      switch request.target {
      case "/near": .redirect(status, to: "/end")
      case "/far": .redirect(status, to: other.url("/end").absoluteString)
      default: .ok()
      }
    }
    for row in Self.next {
      let expected = status < 303 ? row.found : status == 303 ? row.seeOther : row.temporary
      for path in ["/near", "/far"] {
        var request = URLRequest(url: server.url(path), method: row.method)
        let hasBody = ["POST", "PUT", "PATCH", "DELETE"].contains(row.method)
        if hasBody {
          request.httpBody = Data("the body".utf8)
          request.setValue("text/x-mine", forHTTPHeaderField: "Content-Type")
          request.setValue("de", forHTTPHeaderField: "Content-Language")
        }
        _ = try await session.networkResponse(for: request)
        let last = try #require(path == "/far" ? other.requests.last : server.requests.last)
        let keepsBody = hasBody && expected == row.method
        #expect(last.method == expected, "\(row.method) \(path)")
        #expect(last.target == "/end")
        #expect(last.text == (keepsBody ? "the body" : ""), "\(row.method) \(path)")
        #expect(last.value("Content-Type") == (keepsBody ? "text/x-mine" : nil), "\(row.method) \(path)")
        #expect(last.value("Content-Language") == (keepsBody ? "de" : nil), "\(row.method) \(path)")
        if hasBody, !keepsBody { #expect(["0", nil].contains(last.value("Content-Length")), "\(row.method) \(path)") }
      }
    }
  }

  @Test func otherStatusesFrom300AreNotFollowed() async throws {
    let server = try LoopbackServer { request in
      request.target == "/there" ? .ok() : .redirect(Int(request.target.dropFirst()) ?? 0, to: "/there")
    }
    for status in [300, 304] {
      let response = try await session.networkResponse(for: URLRequest(url: server.url("/\(status)")))
      #expect(response.response.statusCode == status)
    }
    #expect(!server.requests.contains { $0.target == "/there" })
  }

  @Test func aFailureAfterARedirectIsRetriedFromTheStart() async throws {
    let server = try LoopbackServer { request in
      switch request.index {
      case 0, 2: .redirect(307, to: "/b")
      case 1: .status(503)
      default: .ok("there")
      }
    }
    var request = URLRequest(url: server.url("/a"), method: "PUT")
    request.httpBody = Data("the body".utf8)
    let policy = RetryPolicy(backoff: .none, budget: nil)
    let response = try await session.networkResponse(for: request, policy: policy)
    #expect(server.requests.map(\.target) == ["/a", "/b", "/a", "/b"])
    #expect(server.requests.map(\.text) == Array(repeating: "the body", count: 4))
    #expect(response.data == Data("there".utf8))
    #expect(response.response.url?.path == "/b")
    #expect(response.attempts.map { $0.error?.statusCode } == [503, nil])
  }
}
