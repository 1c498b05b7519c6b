#if os(Linux) || os(macOS)
  import Foundation

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Darwin)
    import Darwin
  #endif

  /// A child process. Foundation's `Process` is not used, because on Linux it reads past the end of a directory entry when it
  /// starts a process, which sometimes crashes the tests.
  public final class ChildProcess: Sendable {
    /// The process identifier.
    public let identifier: Int32
    /// The folder of the files with its standard output and standard error.
    private let folder: URL

    /// Starts a program. Its standard input is `input`, or empty.
    public init(
      _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: FileHandle? = nil
    ) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "child-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      #if canImport(Darwin)
        var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
      #else
        var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
      #endif
      posix_spawn_file_actions_init(&actions)
      posix_spawnattr_init(&attributes)
      defer {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
      }
      if let input {
        posix_spawn_file_actions_adddup2(&actions, input.fileDescriptor, 0)
      } else {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
      }
      for (number, name) in [(Int32(1), "out"), (2, "err")] {
        let path = folder.appending(path: name).path
        posix_spawn_file_actions_addopen(&actions, number, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      }
      // A socket that the child inherits would stay open when this process closes it.
      #if canImport(Darwin)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_CLOEXEC_DEFAULT))
      #else
        for number in 3..<Int32(clamping: min(sysconf(Int32(_SC_OPEN_MAX)), 4096)) {
          posix_spawn_file_actions_addclose(&actions, number)
        }
      #endif
      // It calls `exit` while threads of URLSession run. The leak detector would sometimes report what only they refer to.
      let all = ProcessInfo.processInfo.environment.merging(["ASAN_OPTIONS": "detect_leaks=0"]) { $1 }
        .merging(environment) { $1 }
      let argv = ([program] + arguments).map { strdup($0) } + [nil]
      let envp = all.map { strdup("\($0)=\($1)") } + [nil]
      defer { for text in argv + envp { free(text) } }
      var identifier: pid_t = 0
      let code = posix_spawn(&identifier, program, &actions, &attributes, argv, envp)
      guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EINVAL) }
      self.identifier = identifier
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The text on its standard output so far.
    public var out: String { text("out") }
    /// The text on its standard error so far.
    public var err: String { text("err") }
    private func text(_ name: String) -> String {
      // `Data(contentsOf:)` leaks a page for each empty file on Linux.
      let file = try? FileHandle(forReadingFrom: folder.appending(path: name))
      return String(decoding: (try? file?.readToEnd()) ?? Data(), as: UTF8.self)
    }

    /// Sends a signal, such as SIGKILL.
    public func send(_ signal: Int32) { kill(identifier, signal) }

    /// Waits until it exits; may be called once. Returns the exit code, or the negated number of the signal that ended it.
    @discardableResult public func wait() -> Int32 {
      var status: Int32 = 0
      while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
      return status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
    }

    /// Like `wait()`, without blocking a thread of the concurrency runtime.
    @discardableResult public func ended() async -> Int32 {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: self.wait()) }
      }
    }
  }
#endif
