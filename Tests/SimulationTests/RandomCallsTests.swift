import Testing

extension SimulationTests {
  /// What must be true of every call, whatever happens. That each of these can fail, Tests/Mutation shows.
  @Suite(.serialized) struct RandomCallsTests {
    @Test func whateverHappensTheRulesHold() {
      let run = RandomCalls(calls: 5000)
      let report = run.run()
      #expect(report.calls == 5000)
      #expect(report.sends > 6000 && report.successes > 2000, "\(report.sends) \(report.successes)")
      for (check, violations) in report.violations {
        Issue.record("\(check), \(violations.count) times: \(violations.first ?? "") (run \(run.seed))")
      }
    }

    @Test func theSameSeedIsTheSameRun() {
      let (one, two) = (RandomCalls(calls: 2000, seed: 7).run(), RandomCalls(calls: 2000, seed: 7).run())
      #expect(one.sends == two.sends && one.successes == two.successes)
    }
  }
}
