nonisolated extension ScriptedResponse {
  /// The correct response for a file (RFC 9110 §14): all of it, the range if If-Range allows it, or 416. With `cut`, the
  /// connection ends after that many bytes of the body.
  public static func file(
    _ bytes: [UInt8], for request: LoopbackServer.Request, _ headers: [(String, String)] = [("ETag", "\"1\"")],
    cut: Int? = nil
  ) -> ScriptedResponse {
    let validators = headers.filter { ["ETag", "Last-Modified"].contains($0.0) }.map(\.1)
    let range = request.value("Range")?.split { "=-".contains($0) }.dropFirst().compactMap { Int($0) }
    guard let start = range?.first, request.value("If-Range").map(validators.contains) ?? true else {
      return part(200, bytes[...], headers, cut)
    }
    if start >= bytes.count { return .status(416, headers + [("Content-Range", "bytes */\(bytes.count)")]) }
    let end = min(range?.dropFirst().first ?? .max, bytes.count - 1)
    return part(
      206, bytes[start...end], headers + [("Content-Range", "bytes \(start)-\(end)/\(bytes.count)")], cut)
  }

  private static func part(
    _ status: Int, _ bytes: ArraySlice<UInt8>, _ headers: [(String, String)], _ cut: Int?
  ) -> ScriptedResponse {
    let head = head(status, headers + [("Content-Length", "\(bytes.count)"), ("Accept-Ranges", "bytes")])
    if let cut, cut < bytes.count { return ScriptedResponse([.send(head + bytes.prefix(cut)), .close]) }
    return ScriptedResponse([.send(head + bytes)])
  }
}
