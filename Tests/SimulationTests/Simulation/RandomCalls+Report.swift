@testable import Wynd

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension RandomCalls {
  /// What must be true.
  public enum Check: String, CaseIterable, Sendable {
    case endsExactlyOnce
    case noMoreSendsThanAllowed
    case nothingUnsafeIsSentTwice
    case neverSoonerThanTheServerAsked
    case noWaitThatCannotEndInAnAttempt
    case noLongerThanTheDeadline
    case nothingSentAfterACancellation
    case theAttemptsReportedAreThoseMade
    case everyDelayIsWithinItsBounds
    case noLongerThanItsOwnRetries
    case noMoreSendsThanAlone
  }

  /// The result of a run.
  public struct Report: Sendable {
    /// Calls made.
    public var calls = 0
    /// Attempts made in them.
    public var sends = 0
    /// Calls that succeeded.
    public var successes = 0
    /// The first violations of each check, with the seed of the world in which they happened.
    public var violations: [Check: [String]] = [:]
  }
}
