import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The header field Link (RFC 8288): which URL a response links to.
@Suite struct LinkFieldTests {
  static func link(
    _ relation: String, _ field: String?, _ url: String = "https://a.example/v1/users?page=1"
  ) -> String? {
    guard let url = URL(string: url),
      let response = HTTPURLResponse(
        url: url, statusCode: 200, httpVersion: nil, headerFields: field.map { ["Link": $0] } ?? [:])
    else { return "no response" }
    return NetworkResponse(data: Data(), response: response).link(relation)?.absoluteString
  }

  static let next = "https://a.example/n"
  static let targetsOfNext: [(String, String?)] = [
    // The forms of RFC 8288 §3, and of well-known services.
    (#"<https://a.example/n>; rel="next""#, next), (#"<https://a.example/n>;rel=next"#, next),
    (#"<https://a.example/p>; rel="prev", <https://a.example/n>; rel="next", <https://a.example/l>; rel="last""#, next),
    (#"  <https://a.example/n>  ;  rel  =  "next"  "#, next),
    (#"<https://a.example/n>; REL="Next""#, next),
    // Several relation types of one link.
    (#"<https://a.example/n>; rel="prev  next""#, next),
    (#"<https://a.example/x>; rel="nextpage next-1", <https://a.example/n>; rel=next"#, next),
    (#"<https://a.example/n>; rel="http://r.example/next", <https://a.example/m>; rel=prev"#, nil),
    // A quoted string may contain anything, even a whole link.
    (#"<https://a.example/p>; title="a, <https://evil.example>; rel=next"; rel=prev"#, nil),
    (#"<https://a.example/p>; title="a \", b"; rel=prev, <https://a.example/n>; title="x;y,z"; rel="next""#, next),
    (#"<https://a.example/n>; title="\\"; rel=next"#, next),
    (#"<https://a.example/n>; rel="ne\xt""#, next),
    // A comma and a semicolon in the target.
    (#"<https://a.example/n?a=1,2;b=3>; rel=next"#, "https://a.example/n?a=1,2;b=3"),
    (#"<https://a.example/n?cursor=a+b%2Bc>; rel=next"#, "https://a.example/n?cursor=a+b%2Bc"),
    // An escape stands for itself, also beside a character that a URL cannot have.
    (#"</x?page[number]=2&q=a%20b>; rel="next""#, "https://a.example/x?page%5Bnumber%5D=2&q=a%20b"),
    (#"</100%/%2g?q=ü%20>; rel=next"#, "https://a.example/100%25/%252g?q=%C3%BC%20"),
    (#"<https://bücher.example/a b%20>; rel=next"#, "https://xn--bcher-kva.example/a%20b%20"),
    // Relative targets.
    ("</v1/users?page=2>; rel=next", "https://a.example/v1/users?page=2"),
    ("<?page=2>; rel=next", "https://a.example/v1/users?page=2"), ("<//b.example/n>; rel=next", "https://b.example/n"),
    // The first of several counts.
    (#"<https://a.example/n>; rel=next; rel=prev, <https://a.example/m>; rel=next"#, next),
    (#"<https://a.example/n>; rel=prev; rel=next"#, nil), ("<https://a.example/n>; rel; rel=next", nil),
    // A link that another resource has.
    (#"<https://a.example/n>; rel=next; anchor="/v1/other", <https://a.example/m>; rel=next"#, "https://a.example/m"),
    (#"<https://a.example/n>; rel=next; anchor="?page=1""#, nil),
    (#"<https://a.example/n>; rel=next; anchor="""#, next), ("<https://a.example/n>; rel=next; anchor", nil),
    // The response itself, and a quoted string without an end.
    ("<>; rel=next", "https://a.example/v1/users?page=1"), (#"<https://a.example/n>; rel="next"#, next),
    // What is not a link.
    ("", nil), (",", nil), ("next", nil), ("https://a.example/n; rel=next", nil),
    ("<https://a.example/n>", nil), ("<https://a.example/n>; rev=next", nil),
    (#", ,<https://a.example/n>; rel="next" , "#, next), ("<a> junk, <https://a.example/n>; rel=next", next),
    ("junk, <https://a.example/n>; rel=next", next),
  ]
  @Test(arguments: targetsOfNext) func findsTheNextPage(_ field: String, _ expected: String?) {
    #expect(Self.link("next", field) == expected)
  }

  @Test func hasNoLinkWithoutALinkField() { #expect(Self.link("next", nil) == nil) }

  @Test func comparesRelationTypesWithoutCase() {
    let field = #"<https://a.example/l>; rel="LAST", <https://a.example/x>; rel="http://R.example/x""#
    #expect(Self.link("Last", field) == "https://a.example/l")
    #expect(Self.link("http://r.example/X", field) == "https://a.example/x")
  }

  /// The URL of a request may have a password, which must not reach the next page.
  @Test func linkTargetHasNoPasswordOfTheRequestURL() {
    let url = "https://u:p@a.example/v1/users#part"
    #expect(Self.link("next", "<?page=2>; rel=next", url) == "https://a.example/v1/users?page=2")
    #expect(Self.link("self", "<users>; rel=self", url) == "https://a.example/v1/users")
  }

  @Test func emptyTargetIsTheURLOfTheResponseWithoutUserPasswordAndFragment() {
    let url = "https://user:secret@api.example.com/x?a=1#part"
    #expect(Self.link("self", "<>; rel=self", url) == "https://api.example.com/x?a=1")
  }

  /// In time that grows with the size: a server may send a field of 100 KB.
  @Test(.timeLimit(.minutes(5))) func parsesLongFieldsInLinearTime() {
    let texts = ["<", "<,", "<a>;", "<a>;a=\"", ",", ";", "<a>;\\\"", "<a>;rel=\"x\","]
    for text in texts { #expect(Self.link("next", String(repeating: text, count: 100_000)) == nil) }
  }
}
