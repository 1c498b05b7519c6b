import Foundation
import Measurement

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How time and memory of a call grow with the number of calls and with the size of the body; each figure from processes
/// of their own, so that one's memory is not another's.
enum Growth {
  static func run(rounds: Int) async throws {
    let server = try ServerProcess()
    print(
      "at once   body bytes      time    time ratio (95 %)         peak memory: bare, with Wynd   difference a call at once"
    )
    let widths = [(10, 2000), (100, 2000), (1000, 4000), (10_000, 20_000)].map { (40, $0.0, $0.1) }
    let sizes = [(1, 1000), (40, 1000), (1_000_000, 100), (10_000_000, 20), (100_000_000, 4)].map { ($0.0, 1, $0.1) }
    for (size, width, calls) in widths + sizes {
      var bare: [(wall: Double, peak: Double)] = []
      var ours: [(wall: Double, peak: Double)] = []
      for _ in 0..<rounds {
        bare.append(try child(0, calls, width, server.url, size))
        ours.append(try child(1, calls, width, server.url, size))
      }
      let ratio = Median(zip(ours, bare).map { $0.wall / $1.wall })
      let (peak, ourPeak) = (Median(bare.map(\.peak)).value, Median(ours.map(\.peak)).value)
      print(
        String(
          format: "%7d %12d %8.0f µs   %.3f (%.3f–%.3f) %15.1f MB %8.1f MB %15.0f B", width, size,
          Median(ours.map(\.wall)).value / Double(calls) * 1e6, ratio.value, ratio.low, ratio.high, peak / 1024,
          ourPeak / 1024, (ourPeak - peak) * 1024 / Double(width)))
    }
  }

  private static func child(_ form: Int, _ calls: Int, _ width: Int, _ url: URL, _ size: Int) throws
    -> (wall: Double, peak: Double)
  {
    let text = try ServerProcess.output(
      of: ["one", "\(form)", "\(calls)", "\(width)", url.appendingPathComponent("\(size)").absoluteString])
    let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard numbers.count == 2 else { throw CocoaError(.fileReadCorruptFile) }
    return (numbers[0], numbers[1])
  }

  /// What the child does: so many calls of a form; prints seconds, and kilobytes of memory at the highest.
  static func one(_ arguments: [String]) async {
    guard arguments.count == 4, let form = Int(arguments[0]), let calls = Int(arguments[1]),
      let width = Int(arguments[2]),
      let url = URL(string: arguments[3])
    else { return }
    let session = Overhead.session()
    await Overhead.perform(Overhead.forms[form], session, url, 1, 1)
    let cost = await Cost.of { await Overhead.perform(Overhead.forms[form], session, url, calls, width) }
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }.map { $0.filter(\.isNumber) } ?? "0"
    print(cost.wall, peak)
  }
}
