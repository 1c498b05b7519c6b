import Dispatch
import Foundation

// Top-level code runs on the main actor, and waiting here would block it.
let arguments = Array(CommandLine.arguments.dropFirst())
let command = Task.detached { exit(await Command.run(arguments)) }

// Ctrl-C cancels the call, as leaving a screen does in an app.
signal(SIGINT, SIG_IGN)
let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
interrupt.setEventHandler { command.cancel() }
interrupt.activate()
dispatchMain()
