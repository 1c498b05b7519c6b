// What is certain to be passed, without luck: each seed as it is, with each number of the dictionary in place of digits,
// and with each odd character of the dictionary at each position.
import Foundation

/// What libFuzzer calls once, at its start. `fuzz limits DICTIONARY FILE SEED…` does not start libFuzzer. FILE has the
/// input of the moment, and remains if that input ends the process.
@_cdecl("LLVMFuzzerInitialize")
public func start(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
  let arguments = CommandLine.arguments
  guard arguments.count > 4, arguments[1] == "limits" else { return 0 }
  let limits = FuzzLimits(dictionary: bytes(of: arguments[2]), file: open(arguments[3], O_CREAT | O_RDWR, 0o644))
  let seeds = arguments[4...].map(bytes)
  // There are far fewer numbers than positions, so they come first.
  seeds.forEach(limits.passNumbers)
  seeds.forEach(limits.passMarks)
  try? FileManager.default.removeItem(atPath: arguments[3])
  exit(0)
}

private func bytes(of path: String) -> [UInt8] {
  guard let data = FileManager.default.contents(atPath: path) else { fatalError("\(path) cannot be read") }
  return Array(data)
}

private struct FuzzLimits {
  let numbers: [[UInt8]]
  /// The words without a letter or a digit.
  let marks: [[UInt8]]
  /// It stays open, because to write a new file takes longer than to pass the input.
  let file: CInt

  init(dictionary: [UInt8], file: CInt) {
    let lines = String(decoding: dictionary, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("\"") }
    // "W/\x22" is read as W/%22.
    let words = lines.map { decoded($0.dropFirst().dropLast().replacingOccurrences(of: "\\x", with: "%")) ?? [] }
    require(!words.isEmpty && !words.contains([]), "a word of the dictionary is not valid")
    numbers = words.filter { Double(String(decoding: $0, as: UTF8.self)) != nil }
    marks = words.filter { !$0.contains { isLetter($0) || isDigit($0) } }
    self.file = file
  }

  func passNumbers(_ seed: [UInt8]) {
    pass(seed)
    // The first byte is not text.
    let digits = seed.indices.dropFirst().split { !isDigit(seed[$0]) }
    for number in numbers {
      for one in digits { pass(seed.replacing([one], with: number)) }
      pass(seed.replacing(digits, with: number))
    }
  }

  func passMarks(_ seed: [UInt8]) {
    // Between two equal bytes, a mark is seldom another case than before and after them.
    for position in seed.indices.map({ $0 + 1 }) where seed[position - 1] != seed[position...].first {
      for mark in marks { pass(seed.replacing([position..<position], with: mark)) }
    }
  }

  private func pass(_ input: [UInt8]) {
    let count = input.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
    require(count == input.count && ftruncate(file, off_t(count)) == 0, "the input cannot be written")
    // Ends the process after 5 s, if this input hangs.
    alarm(5)
    _ = input.withUnsafeBufferPointer { fuzz($0.baseAddress, $0.count) }
  }
}

private func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

private func isLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 }

extension [UInt8] {
  fileprivate func replacing(_ ranges: [Range<Int>], with other: [UInt8]) -> [UInt8] {
    var bytes = self
    for range in ranges.reversed() { bytes.replaceSubrange(range, with: other) }
    return bytes
  }
}
