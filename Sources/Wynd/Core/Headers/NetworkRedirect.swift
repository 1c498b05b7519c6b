import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Decides which header fields the request after a redirect has, on both platforms. URLSession decides its method and
/// body on Apple's, LinuxRedirect.swift on Linux.
///
/// A retry starts from the request of the call again, and follows its redirects anew.
///
/// URLSession sends custom header fields (X-Api-Key) to any host that a redirect names. On Apple's platforms it drops
/// `Authorization` even if the host stays the same.
nonisolated enum NetworkRedirect {
  /// `next` with the credentials of `previous` if both have the same origin, otherwise without any (RFC 9110 §15.4).
  /// http and https are different origins. `additional` are the fields that the session adds to every request, and
  /// `secretFields` the names of the fields that a client knows to be secret.
  static func request(
    _ next: URLRequest, after previous: URLRequest, additional: NetworkHeaders, secretFields: Set<String> = []
  ) -> URLRequest {
    var next = next
    if NetworkOrigin(next.url) == NetworkOrigin(previous.url) {
      for name in ["Authorization", "Proxy-Authorization"] where next.value(forHTTPHeaderField: name) == nil {
        next.setValue(previous.value(forHTTPHeaderField: name) ?? additional[name], forHTTPHeaderField: name)
      }
      return next
    }
    for (name, value) in next.allHTTPHeaderFields ?? [:]
    where NetworkSensitiveHeader.matches(name, value, known: secretFields) || name.lowercased() == "host" {
      next.setValue(nil, forHTTPHeaderField: name)
    }
    // The session would add a removed field again. A blank value is not sent.
    for field in additional
    where NetworkSensitiveHeader.matches(field.name, field.value, known: secretFields) {
      next.setValue(" ", forHTTPHeaderField: field.name)
    }
    return next
  }
}
