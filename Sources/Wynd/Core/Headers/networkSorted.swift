// One function sorts all texts: with each other call of `sorted`, the compiler makes 3 KB of code for its closure.

nonisolated extension Sequence<String> {
  var networkSorted: [String] { networkSort(Array(self)) }
}

nonisolated extension Dictionary where Key == String {
  /// The members, sorted by name.
  var networkSorted: [(key: String, value: Value)] {
    keys.networkSorted.compactMap { name in self[name].map { (name, $0) } }
  }
}

@inline(never)
nonisolated private func networkSort(_ texts: [String]) -> [String] { texts.sorted() }
