import Testing

@testable import Wynd

/// Comma-separated lists in header fields (RFC 9110 §5.6), a pure rule.
struct ListFieldTests {
  typealias Element = NetworkListField.Element

  static let rows: [(String?, [Element])] = [
    (nil, []), ("", []), (" \t", []), (",", []), (" ,\t,, ", []),
    ("Accept", [Element(name: "accept")]),
    ("\tAccept ,,X-A\t, ", [Element(name: "accept"), Element(name: "x-a")]),
    ("Accept, *", [Element(name: "accept"), Element(name: "*")]),
    ("a b", [Element(name: "a b")]),
    // Values.
    ("Max-Age=60", [Element(name: "max-age", value: "60")]),
    ("a=B=c", [Element(name: "a", value: "B=c")]), ("a=", [Element(name: "a", value: "")]),
    ("=", [Element(name: "", value: "")]), ("a \t=\t b", [Element(name: "a", value: "b")]),
    // Quoted strings.
    ("a=\"60\"", [Element(name: "a", value: "60")]), ("a=\"\"", [Element(name: "a", value: "")]),
    ("a = \"b, c\" ,d", [Element(name: "a", value: "b, c"), Element(name: "d")]),
    ("a=\" B;=, \"", [Element(name: "a", value: " B;=, ")]),
    (#"a="b\", c\\", d"#, [Element(name: "a", value: #"b", c\"#), Element(name: "d")]),
    (#"a="\6\0""#, [Element(name: "a", value: "60")]),
    (#""a, b=c", d"#, [Element(name: #""a, b=c""#), Element(name: "d")]),
    ("a=\"\u{E4}, \u{1F600}\"", [Element(name: "a", value: "\u{E4}, \u{1F600}")]),
    // A backslash means nothing outside of quotes.
    (#"a=\, b"#, [Element(name: "a", value: #"\"#), Element(name: "b")]),
  ]

  @Test(arguments: rows.indices) func quotedStringIsOneToken(_ row: Int) {
    let (text, expected) = Self.rows[row]
    let list = NetworkListField(text)
    #expect(list.elements == expected && !list.isMalformed, "\(text ?? "nil")")
  }

  static let malformed: [(String, [String])] = [
    ("\"", ["\""]), ("a=\"b, no-store", ["a", "no-store"]), ("a, \"b, c=1", ["a", "\"b", "c"]),
    (#"a="b\", c"#, ["a", "c"]), ("a=b\"c, d\"", ["a", "d\""]), ("a=\"b\"c, d", ["a", "d"]),
    ("a=\"b\" \"c, d\"", ["a", "d\""]), ("a\"b, c\"=d", ["a\"b", "c\"=d"]), (#"a="b\"#, ["a"]),
  ]

  @Test(arguments: malformed.indices) func malformedListIsSplitAtEveryComma(_ row: Int) {
    let (text, names) = Self.malformed[row]
    let list = NetworkListField(text)
    #expect(list.isMalformed && list.elements.map(\.name) == names, "\(text)")
  }

  @Test func onlyTokensCanBeFieldNames() {
    for (text, expected) in [
      ("Accept", true), ("*", true), ("x!#$%&'*+-.^_`|~9", true), ("a b", false), ("\"a\"", false), ("a=b", false),
      ("a=", false), ("a:", false), ("\u{E4}", false), ("a/b", false),
    ] {
      #expect(NetworkListField(text).elements.map(\.isToken) == [expected], "\(text)")
    }
  }
}
