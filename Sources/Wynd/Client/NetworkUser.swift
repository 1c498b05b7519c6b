/// A middleware that adds the credential of a user.
nonisolated protocol NetworkUser: AnyObject, Sendable {
  /// The number of the sign-in; 0 if nobody is signed in.
  var signInNumber: Int { get }
  /// The name of the user, if the app has set it.
  var account: String? { get }
}
