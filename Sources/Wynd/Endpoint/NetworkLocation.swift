public import Foundation

/// Where an ``AdHocEndpoint`` goes: a `String`, which is a path, or a whole `URL`.
nonisolated public protocol NetworkLocation: Sendable {}
nonisolated extension String: NetworkLocation {}
nonisolated extension URL: NetworkLocation {}
