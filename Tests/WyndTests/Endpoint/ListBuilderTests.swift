import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct ListBuilderTests {
  @Test(arguments: [true, false]) func buildsListsWithConditionsAndLoops(_ flag: Bool) {
    @ListBuilder<URLQueryItem> var items: [URLQueryItem] {
      URLQueryItem(name: "a", value: "1")
      if flag { URLQueryItem(name: "b", value: nil) }
      Optional<URLQueryItem>.none
      if flag { URLQueryItem(name: "c", value: nil) } else { URLQueryItem(name: "d", value: nil) }
      for number in 1...2 { URLQueryItem(name: "e", value: "\(number)") }
      [URLQueryItem(name: "f", value: ""), URLQueryItem(name: "g", value: "")]
    }
    @ListBuilder<Int> var numbers: [Int] {
      1
      if flag { 2 }
    }
    #expect(items.map(\.name) == (flag ? ["a", "b", "c", "e", "e", "f", "g"] : ["a", "d", "e", "e", "f", "g"]))
    #expect(numbers == (flag ? [1, 2] : [1]))
  }
}
