#if DEBUG
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  // `let method = "POST"` in an endpoint compiles, and Swift ignores it: its type is not that of the requirement. In a
  // debug build, the call fails and says so. A release build has nothing of this file. It rather overlooks a mistake
  // than reports a property that is meant for something else.

  nonisolated extension Endpoint {
    /// Throws if a stored property has the name of a requirement, or one that other libraries use for it, and a value
    /// that could be meant for it, but has no effect: its type is another one, and the request has nothing of its
    /// value.
    func checkMembers(_ request: URLRequest, _ body: RequestBody) throws(NetworkError) {
      let mirror = Mirror(reflecting: self)
      // The children of an enumeration are the labels of its cases.
      guard mirror.displayStyle == .struct || mirror.displayStyle == .class, !(self is any CustomReflectable) else {
        return
      }
      let sent = NetworkIgnoredMember.Sent(self, request, hasBody: !body.isEmpty || request.httpBody != nil)
      for case (let name?, let stored) in mirror.children {
        guard let member = NetworkIgnoredMember.all.first(where: { $0.names.contains(name) }) else { continue }
        if name == member.names[0], type(of: stored) == member.type { continue }
        guard let value = NetworkIgnoredMember.unwrapped(stored), member.isIgnored(value, sent) else { continue }
        let what = "`\(name): \(type(of: stored))` of \(Self.self) has no effect"
        throw .invalidRequest(reason: "\(what): write \(member.cure)")
      }
    }
  }

  /// A requirement of ``Endpoint``, and how to see whether a property that resembles it has an effect.
  nonisolated private struct NetworkIgnoredMember: Sendable {
    /// What has become of the endpoint.
    struct Sent {
      let endpoint: any Endpoint
      let request: URLRequest
      let hasBody: Bool
      private let text: String

      init(_ endpoint: any Endpoint, _ request: URLRequest, hasBody: Bool) {
        self.endpoint = endpoint
        self.request = request
        self.hasBody = hasBody
        let url = request.url?.absoluteString ?? ""
        let parts = [url, url.removingPercentEncoding ?? ""] + (request.allHTTPHeaderFields ?? [:]).values
        text = parts.joined(separator: "\n") + String(decoding: request.httpBody ?? Data(), as: UTF8.self)
      }

      /// Whether the request has the text of a value.
      func has(_ value: Any) -> Bool { text.contains("\(value)") }
    }

    /// The name of the requirement, then those that other libraries use for it.
    let names: [String]
    let type: Any.Type
    /// The declaration that has an effect.
    let cure: String
    /// Whether the author can have meant the value for the requirement, and it has no effect.
    let isIgnored: @Sendable (Any, Sent) -> Bool

    init(
      _ names: String..., type: Any.Type, cure: String, isIgnored: @escaping @Sendable (Any, Sent) -> Bool
    ) {
      self.names = names
      self.type = type
      self.cure = cure
      self.isIgnored = isIgnored
    }

    /// The value inside optionals; nil if there is none.
    static func unwrapped(_ value: Any) -> Any? {
      let mirror = Mirror(reflecting: value)
      return mirror.displayStyle == .optional ? mirror.children.first.flatMap { unwrapped($0.value) } : value
    }

    private static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"]

    private static func setsAnything(_ policy: RetryPolicy) -> Bool {
      Mirror(reflecting: policy).children.contains { unwrapped($0.value) != nil }
    }

    static let all = [
      Self("method", "httpMethod", type: NetworkMethod.self, cure: "`let method: NetworkMethod = .post`") {
        value, sent in
        let text = (value as? any RawRepresentable)?.rawValue as? String ?? value as? String ?? "\(value)"
        let method = text.uppercased()
        return methods.contains(method) && method != sent.request.networkMethod.uppercased()
      },
      Self("scheme", type: String.self, cure: "`let scheme: String`") { value, sent in
        guard let scheme = value as? String else { return false }
        return ["http", "https"].contains(scheme) && scheme != sent.request.url?.scheme
      },
      Self("host", type: String.self, cure: "`let host: String`") { value, sent in
        (value as? String).map { !sent.has($0) } ?? false
      },
      Self("port", type: Int?.self, cure: "`let port: Int?`") { value, sent in
        guard let port = value as? any BinaryInteger, sent.request.url?.host?.isEmpty == false else { return false }
        return !sent.has(port)
      },
      Self("url", "baseURL", type: URL.self, cure: "`let host: String`, or use a NetworkClient(baseURL:)") {
        value, sent in
        let isAddress = value is URL || (value as? String)?.contains("://") == true
        return isAddress && sent.request.url?.host?.isEmpty != false && !sent.hasBody && !sent.has(value)
      },
      Self(
        "queryItems", "query", "parameters", type: [URLQueryItem].self, cure: "`var queryItems: [URLQueryItem]`"
      ) { value, sent in
        if sent.request.url?.query != nil || sent.hasBody { return false }
        // A single value or a list of words, such as the text to search for, is a part of another member.
        if let items = value as? [URLQueryItem] { return !items.isEmpty }
        guard let values = value as? [String: Any], !values.isEmpty else { return false }
        return !values.values.contains { sent.has($0) }
      },
      Self("headers", type: [String: String].self, cure: "`let headers: [String: String]`") { value, sent in
        guard let fields = value as? [String: Any] else { return false }
        return fields.keys.contains { sent.request.value(forHTTPHeaderField: $0) == nil }
      },
      Self("body", type: RequestBody.self, cure: "`var body: RequestBody { .json(value) }`") { value, sent in
        let isContent = value is any Encodable && Mirror(reflecting: value).displayStyle != .enum
        return isContent && !sent.hasBody && ["POST", "PUT", "PATCH"].contains(sent.request.networkMethod)
      },
      Self("policy", "retryPolicy", type: RetryPolicy.self, cure: "`let policy: RetryPolicy`") { value, sent in
        (value as? RetryPolicy).map(setsAnything) == true && !setsAnything(sent.endpoint.policy)
      },
      Self(
        "prepare(request:)", "timeout", "timeoutInterval", type: Never.self,
        cure: "`func prepare(request: inout URLRequest) { request.timeoutInterval = 5 }`"
      ) { value, sent in
        let isTime = value is any BinaryInteger || value is Double || value is Swift.Duration
        let hasLimit = sent.request.timeoutInterval != 60 || setsAnything(sent.endpoint.policy)
        let isDefault = value as? Int == 60 || value as? Double == 60
        return isTime && !hasLimit && !isDefault && !sent.hasBody && !sent.has(value)
      },
    ]
  }
#endif
