import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RedirectTests {
  // MARK: The session's delegate

  /// Responds to a redirect with a changed request; never responds if `change` is nil.
  final class OddDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    let change: (@Sendable (inout URLRequest) -> Void)?
    init(_ change: (@Sendable (inout URLRequest) -> Void)?) { self.change = change }
    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      guard let change else { return }
      var request = request
      change(&request)
      completionHandler(request)
    }
  }

  #if canImport(FoundationNetworking)
    @Test func rejectsInvalidRequestsFromTheRedirectDelegate() async throws {
      let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: "/b") : .ok() }
      let changes: [@Sendable (inout URLRequest) -> Void] = [
        { $0.url = nil }, { $0.httpMethod = "GE T" }, { $0.setValue("1", forHTTPHeaderField: "X\r\nY") },
      ]
      for change in changes {
        let session = URLSession(configuration: .ephemeral, delegate: OddDelegate(change), delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        #expect(await session.result(of: server.url("/a")).error?.urlError?.code == .badURL)
      }
      #expect(server.requests.map(\.target) == ["/a", "/a", "/a"])
    }
  #endif

  @Test func deadlineEndsACallWhoseRedirectDelegateNeverResponds() async throws {
    let server = try LoopbackServer(script: .redirect(to: "/b"))
    let session = URLSession(configuration: .ephemeral, delegate: OddDelegate(nil), delegateQueue: nil)
    defer { session.invalidateAndCancel() }
    let policy = RetryPolicy(deadline: .milliseconds(300))
    let began = ContinuousClock.now
    let result = await session.result(of: server.url("/a"), policy: policy)
    #expect(result.error?.urlError?.code == .timedOut)
    #expect((.milliseconds(300)...(.seconds(20))).contains(ContinuousClock.now - began))
  }

  @Test func sessionDelegateDecidesAboutRedirects() async throws {
    let delegate = RecordingDelegate(redirect: { _, response, request in
      var request = request
      request.setValue("by the delegate", forHTTPHeaderField: "X-Added")
      return response.url?.path == "/refuse" ? nil : request
    })
    let session = URLSession(configuration: .default, delegate: delegate, delegateQueue: nil)
    defer { session.invalidateAndCancel() }
    let server = try LoopbackServer { $0.target == "/b" ? .ok($0.value("X-Added") ?? "") : .redirect(to: "/b") }
    #expect(try await session.performNetworkRequest(server.url("/a")) == Data("by the delegate".utf8))
    let refused = try await session.networkResponse(for: server.url("/refuse"))
    #expect(refused.response.statusCode == 302)
    #expect(delegate.calls.value == ["redirect", "redirect"])
  }
}
