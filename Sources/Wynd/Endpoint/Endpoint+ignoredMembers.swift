#if DEBUG
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  // `let method = "POST"` in an endpoint compiles, and Swift ignores it: its type is not that of the requirement. In a
  // debug build, the call fails and says so. A release build has nothing of this file.

  nonisolated extension Endpoint {
    /// Throws if a stored property has the name of a requirement, or one that other libraries use for it, but has no
    /// effect: its type is another one, and nothing of its value is in the request.
    func checkMembers(_ request: URLRequest, _ body: RequestBody) throws(NetworkError) {
      let hasBody = !body.isEmpty || request.httpBody != nil
      for case (let name?, let stored) in Mirror(reflecting: self).children {
        guard let member = NetworkIgnoredMember.all.first(where: { $0.names.contains(name) }) else { continue }
        if name == member.names[0], type(of: stored) == member.type { continue }
        guard let value = NetworkIgnoredMember.unwrapped(stored) else { continue }
        if member.isUsed(value, self, request, hasBody) { continue }
        let what = "`\(name): \(type(of: stored))` of \(Self.self) has no effect"
        throw .invalidRequest(reason: "\(what): write \(member.cure)")
      }
    }
  }

  /// A requirement of ``Endpoint``, and how to see whether a property that resembles it has an effect.
  nonisolated private struct NetworkIgnoredMember: Sendable {
    /// The name of the requirement, then those that other libraries use for it.
    let names: [String]
    let type: Any.Type
    /// The declaration that has an effect.
    let cure: String
    /// Whether the value has an effect, or the author expects none. The last argument: whether the request has a body.
    let isUsed: @Sendable (Any, any Endpoint, URLRequest, Bool) -> Bool

    init(
      _ names: String..., type: Any.Type, cure: String,
      isUsed: @escaping @Sendable (Any, any Endpoint, URLRequest, Bool) -> Bool
    ) {
      self.names = names
      self.type = type
      self.cure = cure
      self.isUsed = isUsed
    }

    /// The value of an optional; nil if it has none.
    static func unwrapped(_ value: Any) -> Any? {
      let mirror = Mirror(reflecting: value)
      return mirror.displayStyle == .optional ? mirror.children.first?.value : value
    }

    private static func isList(_ value: Any) -> Bool {
      let mirror = Mirror(reflecting: value)
      return [.dictionary, .collection].contains(mirror.displayStyle) && !mirror.children.isEmpty
    }

    private static func setsAnything(_ policy: RetryPolicy) -> Bool {
      Mirror(reflecting: policy).children.contains { unwrapped($0.value) != nil }
    }

    static let all = [
      Self("method", "httpMethod", type: NetworkMethod.self, cure: "`let method: NetworkMethod = .post`") {
        value, _, request, _ in
        let name = (value as? any RawRepresentable)?.rawValue as? String ?? "\(value)"
        return name.uppercased() == request.networkMethod.uppercased()
      },
      Self("scheme", type: String.self, cure: "`let scheme: String`") { value, _, request, _ in
        "\(value)" == request.url?.scheme
      },
      Self("host", type: String.self, cure: "`let host: String`") { value, _, request, _ in
        "\(value)" == request.url?.host
      },
      Self("port", type: Int?.self, cure: "`let port: Int?`") { value, _, request, _ in
        request.url?.port.map { "\($0)" } == "\(value)"
      },
      Self("url", "baseURL", type: URL.self, cure: "`let host: String`, or use a NetworkClient(baseURL:)") {
        value, _, request, hasBody in
        request.url?.host?.isEmpty == false || hasBody
      },
      Self(
        "queryItems", "query", "parameters", type: [URLQueryItem].self, cure: "`var queryItems: [URLQueryItem]`"
      ) { value, _, request, hasBody in
        // A single value, such as the text to search for, is a part of another member.
        !isList(value) || request.url?.query != nil || hasBody
      },
      Self("headers", type: [String: String].self, cure: "`let headers: [String: String]`") { value, _, request, _ in
        let fields = (request.allHTTPHeaderFields ?? [:]).keys
        return !isList(value) || fields.contains { !["Accept", "Content-Type"].contains($0) }
      },
      Self("body", type: RequestBody.self, cure: "`var body: RequestBody { .json(value) }`") { _, _, _, hasBody in
        hasBody
      },
      Self("policy", "retryPolicy", type: RetryPolicy.self, cure: "`let policy: RetryPolicy`") {
        value, endpoint, _, _ in
        guard let value = value as? RetryPolicy else { return true }
        return !setsAnything(value) || setsAnything(endpoint.policy)
      },
      Self("decoder", type: JSONDecoder.self, cure: "`let decoder: JSONDecoder`") { value, endpoint, _, _ in
        (value as? JSONDecoder).map { $0 === endpoint.decoder } ?? true
      },
      Self(
        "prepare", "timeout", "timeoutInterval", type: Never.self,
        cure: "`func prepare(request: inout URLRequest) { request.timeoutInterval = 5 }`"
      ) { value, _, request, _ in
        request.timeoutInterval != 60 || value as? TimeInterval == 60
      },
    ]
  }
#endif
