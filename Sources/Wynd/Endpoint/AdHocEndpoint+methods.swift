public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension NetworkRequestConvertible {
  /// A GET whose response body is parsed as `type`.
  public static func get<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    policy: RetryPolicy = .default, timeout: TimeInterval? = nil, as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(.get, path, .values(query), headers, policy: policy, timeout: timeout, Self.decoded)
  }

  /// A GET whose response body is ignored.
  public static func get(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    policy: RetryPolicy = .default, timeout: TimeInterval? = nil, as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> {
    .init(.get, path, .values(query), headers, policy: policy, timeout: timeout) { _, _, _ in }
  }

  /// A GET whose response body is parsed as `type`.
  public static func get<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkQuery, headers: [String: String?] = [:], policy: RetryPolicy = .default,
    timeout: TimeInterval? = nil, as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(.get, path, query, headers, policy: policy, timeout: timeout, Self.decoded)
  }

  /// A GET whose response body is ignored.
  public static func get(
    _ path: some NetworkLocation, query: NetworkQuery, headers: [String: String?] = [:], policy: RetryPolicy = .default,
    timeout: TimeInterval? = nil, as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> {
    .init(.get, path, query, headers, policy: policy, timeout: timeout) { _, _, _ in }
  }

  /// A HEAD, whose response is the status code and the header fields.
  public static func head(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    policy: RetryPolicy = .default, timeout: TimeInterval? = nil
  ) -> Self where Self == AdHocEndpoint<HTTPURLResponse> {
    .init(.head, path, .values(query), headers, policy: policy, timeout: timeout) { _, response, _ in response }
  }

  /// A POST whose response body is parsed as `type`.
  public static func post<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    body: RequestBody = .empty, isReadOnly: Bool = false, idempotencyKey: UUID? = nil, policy: RetryPolicy = .default,
    timeout: TimeInterval? = nil, as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(
      .post, path, .values(query), headers, body, isReadOnly: isReadOnly, key: idempotencyKey, policy: policy,
      timeout: timeout, Self.decoded)
  }

  /// A POST whose response body is ignored.
  public static func post(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    body: RequestBody = .empty, isReadOnly: Bool = false, idempotencyKey: UUID? = nil, policy: RetryPolicy = .default,
    timeout: TimeInterval? = nil, as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> {
    .init(
      .post, path, .values(query), headers, body, isReadOnly: isReadOnly, key: idempotencyKey, policy: policy,
      timeout: timeout
    ) { _, _, _ in }
  }

  /// A PUT whose response body is parsed as `type`.
  public static func put<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    body: RequestBody = .empty, policy: RetryPolicy = .default, timeout: TimeInterval? = nil,
    as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(.put, path, .values(query), headers, body, policy: policy, timeout: timeout, Self.decoded)
  }

  /// A PUT whose response body is ignored.
  public static func put(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    body: RequestBody = .empty, policy: RetryPolicy = .default, timeout: TimeInterval? = nil,
    as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> {
    .init(.put, path, .values(query), headers, body, policy: policy, timeout: timeout) { _, _, _ in }
  }

  /// A PATCH whose response body is parsed as `type`.
  public static func patch<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    body: RequestBody = .empty, idempotencyKey: UUID? = nil, policy: RetryPolicy = .default,
    timeout: TimeInterval? = nil, as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(
      .patch, path, .values(query), headers, body, key: idempotencyKey, policy: policy, timeout: timeout, Self.decoded)
  }

  /// A PATCH whose response body is ignored.
  public static func patch(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    body: RequestBody = .empty, idempotencyKey: UUID? = nil, policy: RetryPolicy = .default,
    timeout: TimeInterval? = nil, as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> {
    .init(.patch, path, .values(query), headers, body, key: idempotencyKey, policy: policy, timeout: timeout) {
      _, _, _ in
    }
  }

  /// A DELETE whose response body is parsed as `type`.
  public static func delete<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    body: RequestBody = .empty, policy: RetryPolicy = .default, timeout: TimeInterval? = nil,
    as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(.delete, path, .values(query), headers, body, policy: policy, timeout: timeout, Self.decoded)
  }

  /// A DELETE whose response body is ignored.
  public static func delete(
    _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    body: RequestBody = .empty, policy: RetryPolicy = .default, timeout: TimeInterval? = nil,
    as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> {
    .init(.delete, path, .values(query), headers, body, policy: policy, timeout: timeout) { _, _, _ in }
  }

  /// A request of any method, such as `.request(.options, "/users")`, whose response body is parsed as `type`.
  public static func request<Value: Decodable & Sendable>(
    _ method: NetworkMethod, _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    body: RequestBody = .empty, isReadOnly: Bool? = nil, idempotencyKey: UUID? = nil, policy: RetryPolicy = .default,
    timeout: TimeInterval? = nil, as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(
      method, path, .values(query), headers, body, isReadOnly: isReadOnly, key: idempotencyKey, policy: policy,
      timeout: timeout, Self.decoded)
  }

  /// A request of any method, such as `.request(.options, "/users")`, whose response body is ignored.
  public static func request(
    _ method: NetworkMethod, _ path: some NetworkLocation, query: NetworkValues = [:], headers: [String: String?] = [:],
    body: RequestBody = .empty, isReadOnly: Bool? = nil, idempotencyKey: UUID? = nil, policy: RetryPolicy = .default,
    timeout: TimeInterval? = nil, as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> {
    .init(
      method, path, .values(query), headers, body, isReadOnly: isReadOnly, key: idempotencyKey, policy: policy,
      timeout: timeout
    ) { _, _, _ in }
  }

  /// A request of any method whose response body is parsed as `type`.
  public static func request<Value: Decodable & Sendable>(
    _ method: NetworkMethod, _ path: some NetworkLocation, query: NetworkQuery, headers: [String: String?] = [:],
    body: RequestBody = .empty, isReadOnly: Bool? = nil, idempotencyKey: UUID? = nil, policy: RetryPolicy = .default,
    timeout: TimeInterval? = nil, as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(
      method, path, query, headers, body, isReadOnly: isReadOnly, key: idempotencyKey, policy: policy, timeout: timeout,
      Self.decoded)
  }

  /// A request of any method whose response body is ignored.
  public static func request(
    _ method: NetworkMethod, _ path: some NetworkLocation, query: NetworkQuery, headers: [String: String?] = [:],
    body: RequestBody = .empty, isReadOnly: Bool? = nil, idempotencyKey: UUID? = nil, policy: RetryPolicy = .default,
    timeout: TimeInterval? = nil, as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> {
    .init(
      method, path, query, headers, body, isReadOnly: isReadOnly, key: idempotencyKey, policy: policy, timeout: timeout
    ) { _, _, _ in }
  }
}
