public import Foundation

nonisolated extension JSONValue {
  /// A number of JSON. An integer or a decimal fraction of at most 38 digits is exact, so that a number is written as it
  /// was read. Any other is a `Double`.
  nonisolated public struct Number: Sendable, Hashable {
    /// Each number has one form: the first that holds it exactly. Only zero may be negative, as a `Double`.
    private enum Form: Hashable, Sendable {
      case integer(Int)
      /// A fraction, or a number that no `Decimal` can hold.
      case double(Double)
      /// A large integer, or a fraction with more digits than a `Double` holds.
      case decimal(Decimal)
    }
    private let form: Form

    /// Makes a number from an integer.
    public init(_ value: Int) { self.init(form: .integer(value)) }
    private init(form: Form) { self.form = form }

    /// Makes a number from its shortest decimal representation. Infinity and NaN cannot be encoded as JSON.
    public init(_ value: Double) {
      if let integer = UInt64(exactly: value.magnitude), value < 0 || integer > UInt64(Int.max) {
        // The shortest text of a large integer stands for another one.
        self.init(value, Decimal(string: (value < 0 ? "-" : "") + String(integer)))
      } else {
        self.init(value, Decimal(string: value.description))
      }
    }

    /// The arguments are the same number, decoded twice.
    init(_ double: Double, _ decimal: Decimal?) {
      let isNegativeZero = double == 0 && double.sign == .minus
      // A `Decimal` has exponents to 127, and becomes zero or loses digits beyond.
      if !isNegativeZero, let decimal, Double(decimal.description) == double {
        self.init(exactly: decimal)
      } else {
        self.init(form: .double(double))
      }
    }

    private init(exactly decimal: Decimal) {
      let text = decimal.description
      if let integer = Int(text) {
        self.init(form: .integer(integer))
      } else if text.contains("."), let double = Double(text), Decimal(string: double.description) == decimal {
        self.init(form: .double(double))
      } else {
        self.init(form: .decimal(decimal))
      }
    }

    /// Reads the text of a number in JSON; nil if it is too large.
    init?(text: String) {
      if let integer = Int(text), integer != 0 {
        self.init(form: .integer(integer))
      } else if let double = Double(text), double.isFinite {
        self.init(double, Decimal(string: text))
      } else {
        return nil
      }
    }

    /// The integer, or nil if this is not an integer or does not fit into an `Int`.
    var integer: Int? {
      switch form {
      case .integer(let integer): integer
      // A server may write zero as `-0.0`, which only a `Double` can hold.
      case .double(let double): double == 0 ? 0 : nil
      case .decimal: nil
      }
    }

    /// The nearest `Double`.
    public var double: Double {
      switch form {
      case .integer(let integer): Double(integer)
      case .double(let double): double
      case .decimal(let decimal): Double(decimal.description) ?? .nan
      }
    }

    /// The number as a `Decimal`; nil if it cannot hold the number.
    public var decimal: Decimal? {
      switch form {
      case .integer(let integer): Decimal(string: String(integer))
      case .double(let double):
        Decimal(string: double.description).flatMap { Double($0.description) == double ? $0 : nil }
      case .decimal(let decimal): decimal
      }
    }

    /// Compares the numbers. Zero and negative zero are equal.
    public static func == (left: Self, right: Self) -> Bool { left.comparable == right.comparable }
    /// Hashes the number.
    public func hash(into hasher: inout Hasher) { hasher.combine(comparable) }
    private var comparable: Form { integer == 0 ? .integer(0) : form }

    func encode(to container: inout any SingleValueEncodingContainer) throws {
      switch form {
      case .integer(let integer): try container.encode(integer)
      case .double(let double): try container.encode(double)
      case .decimal(let decimal): try container.encode(decimal)
      }
    }
  }
}
