import Dispatch
import Foundation
import Testing

@testable import Wynd

/// Work on files runs on few threads, whatever the number of calls.
@Suite(.timeLimit(.minutes(5))) struct FileWorkTests {
  @Test func runsFourPiecesOfWorkAtATimeAndAllOfThem() async throws {
    let (running, most, done) = (Box(0), Box(0), Counter())
    let mayEnd = DispatchSemaphore(value: 0)
    let all = Task {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<100 {
          group.addTask {
            try? await networkInBackground {
              running.update { running in
                running += 1
                most.update { $0 = max($0, running) }
              }
              mayEnd.wait()
              running.update { $0 -= 1 }
              done.add()
            }
          }
        }
      }
    }
    await until { (running.value ?? 0) >= 4 }
    // A cache has a thread of its own.
    let folder = try Folder()
    let store = try ResponseStore(in: folder.url, capacity: 1_000)
    #expect(await store.start("a", try ResponseCacheTests.request()).stored == nil)
    for _ in 0..<100 { mayEnd.signal() }
    await all.value
    #expect(done.value == 100)
    // Other tests work on files, too, so there may be fewer.
    #expect(try #require(most.value) <= 4)
  }

  @Test func passesValuesAndErrorsOn() async throws {
    struct Failed: Error {}
    #expect(try await networkInBackground { 7 } == 7)
    await #expect(throws: Failed.self) { try await networkInBackground { throw Failed() } }
  }
}
