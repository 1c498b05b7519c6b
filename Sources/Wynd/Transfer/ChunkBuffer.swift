import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What has come and was not read yet. In memory up to a limit; what comes beyond it goes through a temporary file, so a slow
/// reader costs room on the disk, and none in memory. On Apple's platforms the sender is made to wait as well.
nonisolated final class ChunkBuffer: @unchecked Sendable {
  private let limit: Int
  /// True: enough has come. False: there is room again.
  private let onPressure: @Sendable (Bool) -> Void
  private let pressure = NSLock()
  private var applied = false
  private let lock = NSLock()
  private var chunks: [Data] = []
  private var first = 0
  private var bytes = 0
  private var isUnderPressure = false
  private var spill: SpillFile?
  private var end: Result<Void, NetworkError>?
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(limit: Int = 1_048_576, onPressure: @escaping @Sendable (Bool) -> Void = { _ in }) {
    self.limit = limit
    self.onPressure = onPressure
  }

  var bytesInMemory: Int { lock.withLock { bytes } }

  func append(_ data: Data) throws(NetworkError) {
    if data.isEmpty { return }
    var failure: (any Error)?
    let (isNewPressure, waiting) = lock.withLock {
      if end != nil { return (false, take()) }
      do {
        if bytes + data.count > limit || spill?.isEmpty == false {
          // In order: once something lies in the file, everything goes through it until it is empty.
          if spill == nil { spill = try SpillFile() }
          try spill?.append(data)
        } else {
          chunks.append(data)
          bytes += data.count
        }
      } catch {
        failure = error
        // What follows must not close the gap.
        end = .failure(.transferFailed(TransferError.fileSystem(error)))
      }
      defer { isUnderPressure = isUnderPressure || bytes > limit / 2 }
      return (!isUnderPressure && bytes > limit / 2, take())
    }
    if isNewPressure { applyPressure() }
    for reader in waiting { reader.resume() }
    if let failure { throw .transferFailed(TransferError.fileSystem(failure)) }
  }

  func finish(_ result: Result<Void, NetworkError>) {
    let waiting = lock.withLock {
      if end == nil { end = result }
      return take()
    }
    for reader in waiting { reader.resume() }
  }

  private func take() -> [CheckedContinuation<Void, Never>] {
    defer { waiting = [] }
    return waiting
  }

  /// One at a time, and what is true by then: a sender that is told to wait after it was told to go on would wait for ever.
  private func applyPressure() {
    pressure.withLock {
      let now = lock.withLock { isUnderPressure }
      if now != applied { onPressure(now) }
      applied = now
    }
  }

  private enum Next {
    case data(Data, hasRoom: Bool)
    case end(Result<Void, NetworkError>)
    case wait
  }

  /// The next piece; nil at the end. What came before an error is given first.
  func next() async throws(NetworkError) -> Data? {
    while true {
      if Task.isCancelled { finish(.failure(.cancelled)) }
      switch lock.withLock({ step() }) {
      case .data(let data, let hasRoom):
        if hasRoom { applyPressure() }
        return data
      case .end(let result):
        try result.get()
        return nil
      case .wait:
        await withTaskCancellationHandler {
          await withCheckedContinuation { continuation in
            let isDue = lock.withLock {
              if chunks.count > first || spill?.isEmpty == false || end != nil { return true }
              waiting.append(continuation)
              return false
            }
            if isDue { continuation.resume() }
          }
        } onCancel: {
          finish(.failure(.cancelled))
        }
      }
    }
  }

  private func step() -> Next {
    if case .failure(let error)? = end, error.isCancellation { return .end(.failure(error)) }
    if chunks.count > first {
      let data = chunks[first]
      chunks[first] = Data()
      first += 1
      bytes -= data.count
      if first == chunks.count || first > 64 {
        chunks.removeFirst(first)
        first = 0
      }
      let hasRoom = isUnderPressure && bytes < limit / 4 && spill?.isEmpty != false
      if hasRoom { isUnderPressure = false }
      return .data(data, hasRoom: hasRoom)
    }
    if let spill, !spill.isEmpty {
      do {
        let data = try spill.read(upTo: 262_144)
        let hasRoom = isUnderPressure && spill.isEmpty
        if hasRoom { isUnderPressure = false }
        return .data(data, hasRoom: hasRoom)
      } catch {
        return .end(.failure(.transferFailed(TransferError.fileSystem(error))))
      }
    }
    return end.map(Next.end) ?? .wait
  }
}

/// First in, first out, in a file without a name.
nonisolated private final class SpillFile {
  private let url = FileManager.default.temporaryDirectory.appendingPathComponent("wynd-stream-\(UUID().uuidString)")
  private let handle: FileHandle
  private var written = UInt64(0)
  private var read = UInt64(0)

  init() throws {
    guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
    handle = try FileHandle(forUpdating: url)
    // An open file lives on without its name, and is gone with the process, however that ends.
    #if !os(Windows)
      try? FileManager.default.removeItem(at: url)
    #endif
  }

  deinit {
    try? handle.close()
    #if os(Windows)
      try? FileManager.default.removeItem(at: url)
    #endif
  }

  var isEmpty: Bool { read == written }

  func append(_ data: Data) throws {
    try handle.seek(toOffset: written)
    try handle.write(contentsOf: data)
    written += UInt64(data.count)
  }

  func read(upTo count: Int) throws -> Data {
    try handle.seek(toOffset: read)
    guard let data = try handle.read(upToCount: count), !data.isEmpty else { throw CocoaError(.fileReadCorruptFile) }
    read += UInt64(data.count)
    if isEmpty {
      (read, written) = (0, 0)
      try handle.truncate(atOffset: 0)
    }
    return data
  }
}
