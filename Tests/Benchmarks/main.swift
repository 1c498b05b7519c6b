import Foundation
import LoopbackServer

let arguments = Array(CommandLine.arguments.dropFirst())
let number = arguments.dropFirst().first.flatMap { Int($0) }
let seed = arguments.dropFirst(2).first.flatMap { UInt64($0) }
switch arguments.first {
case nil: try Overhead.run(rounds: 40)
case "overhead": try Overhead.run(rounds: number ?? 40)
case "chaos": exit(await Chaos.run(calls: number ?? 10_000, seed: seed ?? .random(in: 0...UInt64.max)))
case "lost": try await Lost.run(calls: number ?? 200)
case "threads": exit(try await Threads.run())
case "cache": exit(try await CacheHit.run(calls: number ?? 10_000))
case "transfers": exit(try await Transfers.run())
// For child processes of the benchmarks and for scripts.
case "serve": try ServerProcess.serve()
case "proxy": try cuttingProxy(to: UInt16(clamping: number ?? 0), arguments.dropFirst(2).compactMap(Double.init))
case "round": await Overhead.round(Array(arguments.dropFirst()))
case "transfer": exit(try await Transfers.one(Array(arguments.dropFirst())))
case "limited": exit(await Limited.run(Array(arguments.dropFirst())))
case "upload": exit(await Upload.run(Array(arguments.dropFirst())))
case "http2": exit(await HTTP2.run(Array(arguments.dropFirst())))
default:
  print(
    """
    usage: swift run --package-path Tests -c release Benchmarks
             [overhead [ROUNDS] | chaos [CALLS [SEED]] | transfers | threads | cache [CALLS] | lost [CALLS]]
    """)
}

/// Runs a proxy that cuts these shares of requests, responses and response bodies, until standard input is closed.
func cuttingProxy(to port: UInt16, _ shares: [Double]) throws {
  var faults = ChaosProxy.Faults()
  faults.cutInRequest = shares[0]
  faults.cutBeforeResponse = shares[1]
  faults.cutInBody = shares[2]
  faults.corrupt = 0
  faults.delay = 0
  let proxy = try ChaosProxy(to: port, faults: faults, seed: .random(in: 0...UInt64.max))
  FileHandle.standardOutput.write(Data("\(proxy.port)\n".utf8))
  while readLine() != nil {}
}
