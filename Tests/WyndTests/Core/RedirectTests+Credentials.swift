import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RedirectTests {
  static let secrets = [
    "Authorization": "Bearer T", "Cookie": "sid=1", "Proxy-Authorization": "Basic P", "X-Api-Key": "K",
    "X-Auth-Token": "T", "X-Custom": "Bearer T",
  ]

  @Test func credentialsDoNotLeaveTheOrigin() async throws {
    let other = try LoopbackServer(script: .ok("there"))
    let server = try LoopbackServer(script: .redirect(to: other.url("/b").absoluteString))
    var request = URLRequest(url: server.url("/a"))
    for (name, value) in Self.secrets { request.setValue(value, forHTTPHeaderField: name) }
    request.setValue("text/plain", forHTTPHeaderField: "Accept")
    request.setValue("7", forHTTPHeaderField: "X-Client-Version")
    let data = try await session.performNetworkRequest(request)
    #expect(data == Data("there".utf8))
    for name in Self.secrets.keys {
      #expect(server.requests.first?.value(name) != nil, "\(name)")
      #expect(other.requests.first?.value(name) == nil, "\(name)")
    }
    #expect(other.requests.first?.value("Accept") == "text/plain")
    #expect(other.requests.first?.value("X-Client-Version") == "7")
  }

  /// The other origin gets the body, and each field that is no credential by name.
  @Test func credentialsOfARetryDoNotLeaveTheOrigin() async throws {
    let other = try LoopbackServer { $0.index == 0 ? .status(503) : .ok("there") }
    let server = try LoopbackServer(script: .redirect(307, to: other.url("/b").absoluteString))
    var request = URLRequest(url: server.url("/a"), method: "PUT", body: "the body")
    let others = ["Referer": "https://a.example/", "Idempotency-Key": "\"1\"", "X-TOTP": "123456"]
    for (name, value) in Self.secrets.merging(others, uniquingKeysWith: { $1 }) {
      request.setValue(value, forHTTPHeaderField: name)
    }
    let session = URLSession.ephemeral { $0.httpAdditionalHeaders = ["X-Session-Token": "S"] }
    #expect(try await session.performNetworkRequest(request, policy: .quick()) == Data("there".utf8))
    #expect(server.requests.count == 2 && other.requests.map(\.text) == ["the body", "the body"])
    for name in Self.secrets.keys {
      #expect(server.requests.allSatisfy { $0.value(name) != nil }, "\(name)")
      #expect(other.values(of: name) == [nil, nil], "\(name)")
    }
    #expect(other.values(of: "X-Session-Token").allSatisfy { $0 ?? "" == "" })
    for (name, value) in others { #expect(other.values(of: name) == [value, value], "\(name)") }
  }

  @Test func doesNotRestoreCredentialsAfterReturningToTheOrigin() async throws {
    let home = Box<String>()
    let other = try LoopbackServer { _ in .redirect(to: home.value ?? "") }
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: other.url("/b").absoluteString) : .ok() }
    home.value = server.url("/c").absoluteString
    var request = URLRequest(url: server.url("/a"))
    request.setValue("Bearer T", forHTTPHeaderField: "Authorization")
    _ = try await session.performNetworkRequest(request)
    #expect(server.values(of: "Authorization") == ["Bearer T", nil])
  }

  @Test func dropsTheHostHeaderOnARedirectToAnotherOrigin() async throws {
    let other = try LoopbackServer(script: .ok())
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: other.url().absoluteString) : .ok() }
    var request = URLRequest(url: server.url("/a"))
    request.setValue("internal.example.com", forHTTPHeaderField: "Host")
    #expect(await session.result(of: request).error == nil)
    #expect(other.requests.first?.value("Host") == "127.0.0.1:\(other.port)")
  }

  // MARK: Sensitive header fields

  static let credentialFields = [
    "Authorization", "X-Auth",
    "XAuthToken", "authtoken", "X-OAuth2", "Cookie", "Set-Cookie",
    "X-ApiKey", "api_key", "X-Key", "accessToken",
    "X-Amz-Security-Token", "X-Secret", "X-Password",
    "X-Passphrase", "X-Credentials", "X-Session-Id",
    "PHPSESSID", "sid", "X-Signature", "X-Jwt-Assertion", "sig", "pin",
    "X-Otp", "secretkey",
  ]
  static let ordinaryFields = [
    "X-Author", "X-Keyboard", "X-Monkey", "X-Pinned", "X-Tokenizer",
    "X-Secretary", "Accept", "User-Agent", "Idempotency-Key", "X-Sidebar",
  ]

  @Test func dropsOnlySensitiveHeadersOnARedirect() async throws {
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

  @Test func dropsHeadersWithAnAuthorizationScheme() async throws {
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
  @Test func treatsAnotherHostOrPortAsAnotherOrigin() async throws {
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
  @Test func doesNotAddADroppedCredentialOnALaterHop() async throws {
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
  @Test func sendsSessionHeadersOnEveryHopWithinTheOrigin() async throws {
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: "/b") : .ok() }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["authorization": "Bearer S", "X-Api-Key": "K"]
    _ = try await URLSession(configuration: configuration).performNetworkRequest(server.url("/a"))
    #expect(server.values(of: "Authorization") == ["Bearer S", "Bearer S"])
    #expect(server.values(of: "X-Api-Key") == ["K", "K"])
  }
}
