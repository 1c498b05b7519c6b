/// The error of a service.
nonisolated struct ShopError: Decodable, Error, Equatable {
  var code: String
  var message: String
}
