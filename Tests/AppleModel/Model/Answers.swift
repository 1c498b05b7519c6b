// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
import Foundation

/// An answer to a question that Apple's documents leave open. Without it, the model behaves as the comment of the case says
/// second. The numbers are those of the findings for the first day on a Mac.
///
/// `URLSessionConfiguration.answers` has those of a session, and MODEL_ANSWERS (names with commas) those of a process.
public enum ModelAnswer: String, CaseIterable, Sendable {
  /// F8: PUT, PATCH and DELETE stay what they are after 301 and 302, as RFC 9110 allows. Otherwise they become a GET, as a
  /// POST does ([seen] cmux#6836).
  case keepsMethodAfterRedirect
  /// F7: a response to a request with a reload policy is stored ([seen] Stack Overflow 405151), or is not (kean/Get#95).
  case storesForReload
  /// F10: calls of one task overlap on a concurrent delegate queue, or come one after the other. [hdr] The queue “should be a
  /// serial queue, in order to ensure the correct ordering of callbacks”.
  case callsOverlap
  /// F11: `transactionMetrics` is empty ([seen] bugsnag-cocoa-performance#130), or has each request.
  case emptyMetrics
  /// F11: `didFinishCollecting` is not called, or it is.
  case noMetrics
  /// F4: the delegate of the task is asked about a server's certificate before that of the session, or after it ([doc]
  /// Handling an authentication challenge: the session's method, and the task's if the delegate lacks it).
  case asksTaskForTrustFirst
  /// F4: after a certificate was refused, later tasks to the same server end with -999 and without a question ([seen]
  /// TrustKit#39), or the delegate is asked again.
  case remembersRefusedTrust
  /// F12: a request's time-out that is longer than the session's has no effect ([doc] nsmutableurlrequest/timeoutinterval:
  /// the policy of a request is respected “unless the session's policy is more restrictive”), or it has.
  case sessionTimeoutIsLimit
  /// F12: a time-out that was set counts although it is equal to the default of 60 seconds, or is taken for the default.
  case countsTimeoutThatIsSet

  static let ofProcess = Set(
    (ProcessInfo.processInfo.environment["MODEL_ANSWERS"] ?? "").split(separator: ",").map { name in
      guard let answer = ModelAnswer(rawValue: String(name)) else { fatalError("MODEL_ANSWERS: no answer \(name)") }
      return answer
    })
}

extension URLRequest {
  /// Whether `timeoutInterval` was assigned. FoundationNetworking stores it behind a reference, and keeps it to itself.
  var isTimeoutSet: Bool { withUnsafeBytes(of: self) { $0[MemoryLayout<AnyObject>.size] != 0 } }
}
