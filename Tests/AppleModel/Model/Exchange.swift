import Foundation
import Glibc

/// One request and its response on a connection, or from the cache.
final class Exchange {
  private let loader: Loader
  private var connection: Connection?
  private var reader: BodyReader?
  private var stored: Data?
  private let key: String
  private(set) var head: HTTPURLResponse
  private(set) var isReused = false
  var isFromCache: Bool { reader == nil }

  init(
    _ loader: Loader, _ request: URLRequest, _ body: inout Loader.Body, _ credential: URLCredential?
  ) throws {
    self.loader = loader
    guard let url = request.url else { throw URLError(.badURL) }
    guard let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme) else {
      throw URLError(.unsupportedURL)
    }
    guard let host = url.host, !host.isEmpty else { throw URLError(.badURL) }
    let port = url.port ?? (scheme == "https" ? 443 : 80)
    let key = "\(scheme)://\(host):\(port)"
    self.key = key
    if let (response, data) = loader.session.stored(for: request) {
      (head, stored) = (response, data)
      return
    }
    let method = request.httpMethod ?? "GET"
    // [note] iOS 13 release notes, Networking: a GET with a body fails with NSURLErrorDataLengthExceedsMaximum.
    if method == "GET", case .data(let data) = body, !data.isEmpty { throw URLError(.dataLengthExceedsMaximum) }
    try loader.waitForNetwork()
    if scheme == "https" { try loader.askForTrust(host, port) }

    let session = loader.session
    let limit = session.values.httpMaximumConnectionsPerHost
    // [seen] prebid-mobile-ios#1354: the time-out does not run while a task waits for one of the connections of its host.
    let task = loader.task
    session.locked { session.pool.reserve(key, limit: limit, task) }
    while !task.locked({ task.hasPlace || task.isCancelled }) { task.turn.wait() }
    if !task.locked({ task.hasPlace }) { throw URLError(.cancelled) }
    var current: Connection?
    do {
      try task.waitWhile()
      var reusable = session.locked { session.pool.reuse(key) }
      while true {
        let connection = try reusable ?? Self.connect(loader, host, port, key)
        current = connection
        loader.task.locked { loader.task.connection = connection }
        do {
          try Self.send(request, body, credential, loader, connection)
          let head = try Self.head(loader, connection, url)
          session.store(head.cookies, from: request)
          let reader = try BodyReader(
            head.response, isHead: method == "HEAD", isClassic: session.values.usesClassicLoadingMode)
          (self.head, self.reader, self.connection, isReused) = (head.response, reader, connection, connection.isReused)
          return
        } catch is Connection.Loss {
          // [note] QA1941: “NSURLSession may retry such requests automatically (specifically, if the request is
          // idempotent)”, when a connection that was kept turns out to be closed.
          let isIdempotent = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(method)
          guard connection.isReused, isIdempotent else { throw URLError.lost(-4, domain: 4) }
          session.locked { session.pool.remove(connection) }
          loader.note(request, nil, isReused: true)
          if case .stream = body { body = .stream(try loader.newStream()) }
          reusable = nil
        }
      }
    } catch {
      Self.giveBack(loader, key, current, canBeReused: false)
      throw error
    }
  }

  deinit { end() }

  /// More of the body; nil: that was all.
  func next() throws -> Data? {
    if let stored {
      self.stored = nil
      return stored
    }
    guard let connection, let reader else { return nil }
    do { return try reader.next(connection) { [loader] in try loader.fill(connection) } } catch is Connection.Loss {
      // [seen] expo#49324: a reset within the body is -1005.
      throw URLError.lost(54, domain: 1)
    }
  }

  /// The connection is free again, and used for another request if nothing is left of this one.
  func end() {
    guard let connection, let reader else { return }
    self.connection = nil
    let canBeReused = (reader.isWhole && connection.buffer.isEmpty) || reader.skip(connection)
    Self.giveBack(loader, key, connection, canBeReused: canBeReused)
  }

  private static func giveBack(_ loader: Loader, _ key: String, _ connection: Connection?, canBeReused: Bool) {
    loader.session.locked {
      loader.task.connection = nil
      loader.session.pool.giveBack(key, connection, canBeReused: canBeReused)
      loader.session.changes.broadcast()
    }
  }

  private static func connect(_ loader: Loader, _ host: String, _ port: Int, _ key: String) throws -> Connection {
    loader.task.noteActivity()
    let connection = try Connection.opening(host, port, key)
    loader.session.locked {
      loader.session.pool.add(connection)
      loader.task.connection = connection
    }
    try loader.wait(connection, for: POLLOUT)
    if connection.connectError != 0 { throw URLError(.cannotConnectToHost) }
    return connection
  }

  // MARK: The request

  private static func send(
    _ request: URLRequest, _ body: Loader.Body, _ credential: URLCredential?, _ loader: Loader,
    _ connection: Connection
  ) throws {
    var fields = Fields(request.allHTTPHeaderFields ?? [:])
    // [doc] httpadditionalheaders: the fields of the request come first.
    for case (let name as String, let value as String) in loader.session.values.httpAdditionalHeaders ?? [:] {
      fields.add(name, value)
    }
    if let cookies = loader.session.cookies(for: request) { fields.set("Cookie", cookies) }
    if let user = credential?.user {
      fields.set("Authorization", "Basic " + Data("\(user):\(credential?.password ?? "")".utf8).base64EncodedString())
    }
    let method = request.httpMethod ?? "GET"
    var isChunked = false
    // [doc] nsurlrequest, “Reserved HTTP headers”: Content-Length is URLSession's.
    switch body {
    case .none: if ["POST", "PUT", "PATCH"].contains(method) { fields.set("Content-Length", "0") }
    case .data(let data):
      fields.set("Content-Length", String(data.count))
      // [seen] Alamofire#1393 and many others.
      if method == "POST" { fields.add("Content-Type", "application/x-www-form-urlencoded") }
    case .file(let file):
      let path = file.resolvingSymlinksInPath().path
      guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else {
        throw URLError(.fileDoesNotExist)
      }
      fields.set("Content-Length", String(size))
    case .stream:
      isChunked = !fields.has("Content-Length")
      if isChunked { fields.set("Transfer-Encoding", "chunked") }
    }
    let url = request.url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
    fields.add("Host", "\(url?.percentEncodedHost ?? "")\(url?.port.map { ":\($0)" } ?? "")")
    fields.add("Accept", "*/*")
    fields.add("Accept-Encoding", "gzip, deflate")
    fields.add("Accept-Language", "en-US,en;q=0.9")
    fields.add("User-Agent", "Model/1 CFNetwork/1 Darwin/1")
    fields.add("Connection", "keep-alive")
    let path = url?.percentEncodedPath ?? ""
    let target = (path.isEmpty ? "/" : path) + (url?.percentEncodedQuery.map { "?" + $0 } ?? "")
    loader.requestStartDate = Date()
    try write(Data("\(method) \(target) HTTP/1.1\r\n\(fields.lines)\r\n".utf8), loader, connection)
    do { try send(body, isChunked: isChunked, loader, connection) } catch Connection.Loss.reset {
      // The server may have responded before it closed.
      if (try? loader.fill(connection)) != true { throw Connection.Loss.reset }
    }
  }

  private static func send(
    _ body: Loader.Body, isChunked: Bool, _ loader: Loader, _ connection: Connection
  ) throws {
    func part(_ data: Data) throws {
      let length = isChunked ? "\(String(data.count, radix: 16))\r\n" : ""
      try loader.sent(data.count)
      try write(Data(length.utf8) + data + Data((isChunked ? "\r\n" : "").utf8), loader, connection)
    }
    switch body {
    case .none: break
    case .data(let data):
      var rest = data[...]
      while !rest.isEmpty {
        try part(Data(rest.prefix(262_144)))
        rest = rest.dropFirst(262_144)
      }
    case .file(let file):
      let handle = try FileHandle(forReadingFrom: file)
      defer { try? handle.close() }
      while let data = try handle.read(upToCount: 262_144), !data.isEmpty { try part(data) }
    case .stream(let stream):
      stream.open()
      defer { stream.close() }
      var bytes = [UInt8](repeating: 0, count: 32_768)
      while true {
        let count = stream.read(&bytes, maxLength: bytes.count)
        if count < 0 { throw stream.streamError ?? URLError(.requestBodyStreamExhausted) }
        if count == 0 { break }
        try part(Data(bytes[0..<count]))
      }
      if isChunked { try write(Data("0\r\n\r\n".utf8), loader, connection) }
    }
  }

  private static func write(_ data: Data, _ loader: Loader, _ connection: Connection) throws {
    var rest = data
    while !rest.isEmpty {
      try loader.wait(connection, for: POLLOUT)
      let count = try connection.write(rest)
      if count > 0 { loader.task.noteActivity() }
      rest = rest.dropFirst(count)
    }
  }

  // MARK: The head of the response

  private static func head(_ loader: Loader, _ connection: Connection, _ url: URL) throws -> ResponseHead {
    while true {
      let ends = ["\r\n\r\n", "\n\n"].compactMap { connection.buffer.range(of: Data($0.utf8))?.upperBound }
      if let end = ends.min() {
        let text = String(decoding: connection.take(end - connection.buffer.startIndex), as: UTF8.self)
        if let head = try ResponseHead(text, url) { return head }
        continue
      }
      let isHTTP = "HTTP/".utf8.starts(with: connection.buffer.prefix(5))
      if !isHTTP || connection.buffer.count > 300_000 { throw URLError(.cannotParseResponse) }
      if try !loader.fill(connection) {
        // Within the head a new attempt would not help.
        throw connection.buffer.isEmpty ? Connection.Loss.ended : URLError.lost(-4, domain: 4)
      }
    }
  }

  /// Header fields, whose names have no case.
  private struct Fields {
    private var all: [(name: String, value: String)]
    init(_ fields: [String: String]) { all = fields.map { ($0.key, $0.value) } }
    func has(_ name: String) -> Bool { all.contains { $0.name.lowercased() == name.lowercased() } }
    mutating func add(_ name: String, _ value: String) { if !has(name) { all.append((name, value)) } }
    mutating func set(_ name: String, _ value: String) {
      all.removeAll { $0.name.lowercased() == name.lowercased() }
      all.append((name, value))
    }
    var lines: String { all.map { "\($0.name): \($0.value.trimmingCharacters(in: .whitespaces))\r\n" }.joined() }
  }
}
