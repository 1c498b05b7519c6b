public import Foundation

/// The result of a call: the body of the response, or the error.
public typealias NetworkResult = Swift.Result<Data, NetworkError>
