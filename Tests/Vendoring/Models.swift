// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Another module of the app.
public struct Account: Decodable, Sendable {
  public var name: String
}
public struct Forgetful: Decodable {
  public var name: String
}
