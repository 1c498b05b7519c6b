import Dispatch
import Foundation

// Top-level code runs on the main actor, which waiting here would block; the work is done beside it.
let arguments = Array(CommandLine.arguments.dropFirst())
Task.detached { exit(await Command.run(arguments)) }
dispatchMain()
