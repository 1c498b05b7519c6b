import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a client supplies to its endpoints, beside the base URL and the coders.
nonisolated struct NetworkEndpointDefaults: Sendable {
  /// The `Content-Type` among the header fields of the client.
  var contentType: String?
  /// The `Accept` among the header fields of the client.
  var accept: String?
  /// Receives the values that endpoints parse.
  var valueMiddleware: (any NetworkValueMiddleware)?
}

nonisolated extension NetworkDefaults {
  var ofEndpoints: NetworkEndpointDefaults {
    get { values[NetworkEndpointDefaults.self] ?? NetworkEndpointDefaults() }
    set { values[NetworkEndpointDefaults.self] = newValue }
  }

  /// The Content-Type of a body that names none.
  var defaultContentType: String {
    ofEndpoints.contentType ?? fieldOfSession("Content-Type") ?? "application/octet-stream"
  }

  /// The Accept of a request for JSON that names none.
  var acceptOfJSON: String { ofEndpoints.accept ?? fieldOfSession("Accept") ?? "application/json" }

  private func fieldOfSession(_ name: String) -> String? {
    NetworkHeaders(session?.configuration.httpAdditionalHeaders)[name]
  }
}

nonisolated extension NetworkCallPlan {
  /// The endpoint of the call, for the middleware.
  var endpoint: (any Endpoint)? {
    get { values[(any Endpoint).self] }
    set { values[(any Endpoint).self] = newValue }
  }
}

/// The middleware of a client, for the values that endpoints parse.
nonisolated protocol NetworkValueMiddleware: Sendable {
  func process(_ response: inout NetworkResponse<some Sendable>, of plan: NetworkCallPlan) async throws(NetworkError)
}
