nonisolated extension NetworkResponse {
  /// The same response with another value.
  func withValue<New>(_ value: New) -> NetworkResponse<New> {
    NetworkResponse<New>(
      value: value, data: data, response: response, values: values, failures: failures, success: success)
  }
}
