import Dispatch
import Foundation

// Top-level code runs on the main actor, and waiting here would block it.
let arguments = Array(CommandLine.arguments.dropFirst())
Task.detached { exit(await Command.run(arguments)) }
dispatchMain()
