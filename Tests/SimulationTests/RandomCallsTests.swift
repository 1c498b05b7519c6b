import Testing

extension SimulationTests {
  /// Rules that hold for every call. Tests/Mutation shows that each check can fail.
  @Suite(.serialized) struct RandomCallsTests {
    @Test func keepsAllRulesInRandomCalls() {
      let run = RandomCalls(calls: 5000)
      let report = run.run()
      #expect(report.calls == 5000)
      #expect(report.sends > 6000 && report.successes > 2000, "\(report.sends) \(report.successes)")
      for (check, violations) in report.violations {
        Issue.record("\(check), \(violations.count) times: \(violations.first ?? "") (run \(run.seed))")
      }
    }

    @Test func sameSeedGivesTheSameRun() {
      let (one, two) = (RandomCalls(calls: 2000, seed: 7).run(), RandomCalls(calls: 2000, seed: 7).run())
      #expect(one.sends == two.sends && one.successes == two.successes)
    }
  }
}
