import Testing

@testable import Wynd

/// Lists in header fields (RFC 9110 §5.6), a pure rule.
struct ListFieldTests {
  static let rows: [(String?, [String])] = [
    (nil, []), ("", []), (" \t", []), (",", []), (" ,\t,, ", []), ("Accept", ["accept"]),
    ("\tAccept ,,X-A\t, ", ["accept", "x-a"]), ("Accept, *", ["accept", "*"]),
    ("Max-Age=60", ["max-age=60"]), ("a=B", ["a=B"]), ("a=", ["a="]), ("a \t=\t b", ["a=b"]), ("a=b=c", ["a=b=c"]),
    // Quoted strings.
    ("a=\"60\"", ["a=60"]), ("a=\"\"", ["a="]), ("a = \"b, c\" ,d", ["a=b, c", "d"]), ("a=\" B;=, \"", ["a= B;=, "]),
    (#"a="\6\0""#, ["a=60"]), (#"a="b\\", d"#, [#"a=b\"#, "d"]), ("a=\"\u{E4}, \u{1F600}\"", ["a=\u{E4}, \u{1F600}"]),
    ("a=\"<\", b", ["a=<", "b"]), (#""a, b=c", d"#, [#""a, b=c""#, "d"]), (#"a="\",", b"#, [#"a=","#, "b"]),
    // A backslash means nothing outside of quotes.
    (#"a=\, b"#, [#"a=\"#, "b"]),
    // Targets of links.
    ("<a,b=\">, c", ["<a,b=\">", "c"]), ("<a, b", ["<a, b"]), ("a>, b", ["a>", "b"]),
  ]

  @Test(arguments: rows) func splitsOutsideOfQuotedStrings(_ text: String?, _ expected: [String]) {
    let elements = NetworkListField.elements(of: text)
    #expect(elements.map { $0.name + ($0.value.map { "=" + $0 } ?? "") } == expected)
  }

  @Test func splitsAtAnotherSeparator() {
    let elements = NetworkListField.elements(of: #"a/b; C="d;e", f ;; g=h"#, separatedBy: ";")
    #expect(elements.map(\.name) == ["a/b", "c", "g"] && elements.map(\.value) == [nil, #""d;e", f"#, "h"])
  }

  static let malformed = [
    "\"", "a=\"b, no-store", "\"b, c=1", #"a="b\", c"#, "a=b\"c, d\"", "a=\"b\"c, d", "a=\"b\" \"c, d\"", "a\"b, c\"=d",
    "\"a\"=b", #"a="b\"#, "a=\"\u{301}b", "<a, b", "a=<b, c",
    "a=b c", "a b", "a;b", "a\tb", "a\u{A0}", "a=\u{E4}", "a\u{7F}",
  ]
  @Test(arguments: malformed) func noticesAMalformedElement(_ text: String) {
    let isMalformed = NetworkListField.elements(of: text).map(\.isMalformed)
    #expect(isMalformed.contains(true))
  }

  static let wellFormed = [
    "a", "a=b", "a=", "\"a, b=c\", d", "a=\"b, c\"", #"a, b="\"c, \\""#, "=", #"a=\, b"#,
  ]
  @Test(arguments: wellFormed) func acceptsAWellFormedElement(_ text: String) {
    let isMalformed = NetworkListField.elements(of: text).map(\.isMalformed)
    #expect(!isMalformed.contains(true))
  }

  @Test func onlyTokensCanBeFieldNames() {
    for (text, expected) in [
      ("Accept", true), ("*", true), ("x!#$%&'*+-.^_`|~9", true), ("a b", false), ("\"a\"", false), ("a=b", false),
      ("a=", false), ("a:", false), ("\u{E4}", false), ("a/b", false),
    ] {
      let isToken = NetworkListField.elements(of: text).map(\.isToken)
      #expect(isToken == [expected], "\(text)")
    }
  }
}
