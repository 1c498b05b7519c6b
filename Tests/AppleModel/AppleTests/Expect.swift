import Testing

/// Stands for the macro in the tests that `check` compiles: the macro takes a quarter of the time that they need.
func expect(
  _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) {
  if !condition { Issue.record(comment() ?? "", sourceLocation: sourceLocation) }
}
