import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension UploadTests {
  // MARK: Multipart

  /// The temporary files of this process that hold a text, and whether only the user can read them.
  static func temporaryFiles(with mark: String) -> [Bool] {
    let folder = FileManager.default.temporaryDirectory
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.hasPrefix("wynd-") }.compactMap { name in
      let file = folder.appending(path: name)
      let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
      // Foundation leaks memory when it reads an empty file or a folder, which a process that was killed may have left.
      let isEmpty = (attributes?[.size] as? NSNumber)?.intValue == 0
      let isFile = attributes?[.type] as? FileAttributeType == .typeRegular
      if isEmpty || !isFile { return nil }
      guard let data = try? Data(contentsOf: file), data.range(of: Data(mark.utf8)) != nil else { return nil }
      return (attributes?[.posixPermissions] as? NSNumber)?.intValue == 0o600
    }
  }

  @Test func sendsMultipartFromDiskWithLengthAndProgress() async throws {
    let folder = try Folder()
    try Data(Self.bytes).write(to: folder.file("film.mp4"))
    let mark = UUID().uuidString
    let found = Box<[Bool]>([])
    let server = try LoopbackServer { request in
      if request.isComplete { found.update { $0 += Self.temporaryFiles(with: mark) } }
      return request.index == 0 ? .status(503) : .ok("thanks")
    }
    let reported = Box<[TransferProgress]>([])
    let body = RequestBody.multipart([
      .text("title", mark),
      .file("film", folder.file("film.mp4"), contentType: "video/mp4"),
    ])
    let response = try await upload(server.url(), from: body, [:], { now in reported.append(now) }).get()
    #expect(response.data == Data("thanks".utf8) && server.requests.count == 2)
    for request in server.requests {
      let type = try #require(request.value("Content-Type"))
      let boundary = try #require(type.components(separatedBy: "boundary=").last)
      #expect(type == "multipart/form-data; boundary=\(boundary)")
      let expected =
        Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\n\(mark)\r\n".utf8)
        + Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"film\"; filename=\"film.mp4\"\r\n".utf8)
        + Array("Content-Type: video/mp4\r\n\r\n".utf8) + Self.bytes + Array("\r\n--\(boundary)--\r\n".utf8)
      #expect(request.body == expected && request.value("Content-Length") == "\(expected.count)")
      #expect(reported.value?.last == TransferProgress(completed: Int64(expected.count), total: Int64(expected.count)))
    }
    #expect(reported.value?.allSatisfy { $0.total == reported.value?.last?.total } == true)
    #expect(found.value == [true, true])
    await until { Self.temporaryFiles(with: mark).isEmpty }
    #expect(folder.names == ["film.mp4"])
  }

  /// A retry sends the whole body, even if the file of a part was removed.
  @Test func assemblesMultipartOnce() async throws {
    let folder = try Folder()
    try Data("the part".utf8).write(to: folder.file())
    let server = try LoopbackServer { request in
      try? FileManager.default.removeItem(at: folder.file())
      return request.index == 0 ? .status(503) : .ok()
    }
    _ = try await upload(server.url(), from: .multipart([.file("a", folder.file())])).get()
    #expect(server.requests.count == 2 && server.requests.allSatisfy { $0.text.contains("\r\n\r\nthe part\r\n--") })
  }

  @Test func namesAMissingPartAndSendsNothing() async throws {
    let server = try LoopbackServer(script: .ok())
    let mark = UUID().uuidString
    for path in ["/nowhere/photo.jpg", "/tmp", "/dev/zero"] {
      let body = RequestBody.multipart([
        .text("title", mark), .file("a", URL(fileURLWithPath: path)),
      ])
      let result = await upload(server.url(), from: body)
      guard case .failure(.generalError(let error as TransferError)) = result,
        case .unusableFile(let file, let reason) = error
      else {
        Issue.record("\(path): \(result)")
        return
      }
      #expect(file.path == path && reason == "not a file that can be read")
    }
    #expect(server.requests.isEmpty && Self.temporaryFiles(with: mark).isEmpty)
  }

  @Test func removesTheMultipartFileWhenCanceled() async throws {
    let server = try LoopbackServer(script: .hang)
    let mark = UUID().uuidString
    let folder = try Folder()
    try Data(mark.utf8).write(to: folder.file())
    let body = RequestBody.multipart([.file("a", folder.file())])
    let (url, session) = (server.url(), session)
    let task = Task {
      try await session.performNetworkUpload(url, from: body, policy: .never)
    }
    await until { !server.requests.isEmpty }
    #expect(Self.temporaryFiles(with: mark) == [true])
    task.cancel()
    _ = await task.result
    await until { Self.temporaryFiles(with: mark).isEmpty }
  }

  /// The process may end right after its result.
  @Test func removesTheMultipartFileBeforeTheResult() async throws {
    let folder = try Folder()
    for usesHandler in [true, false] {
      let mark = UUID().uuidString
      let found = Box<[Bool]>([])
      let server = try LoopbackServer { request in
        if request.isComplete { found.update { $0 += Self.temporaryFiles(with: mark) } }
        return .ok()
      }
      let request = URLRequest(url: server.url(), method: "POST")
      try Data(mark.utf8).write(to: folder.file())
      let body = RequestBody.multipart([.file("a", folder.file())])
      if usesHandler {
        let left = await handlerValue { end in
          URLSession.shared.performNetworkUpload(request, from: body) { _ in end(Self.temporaryFiles(with: mark)) }
        }
        #expect(left.isEmpty)
      } else {
        try await URLSession.shared.performNetworkUpload(request, from: body)
        #expect(Self.temporaryFiles(with: mark).isEmpty)
      }
      #expect(found.value == [true])
    }
  }

  @Test func makesMultipartWithoutFilesInMemory() async throws {
    let mark = UUID().uuidString
    let found = Box<[Bool]>([])
    let server = try LoopbackServer { request in
      if request.isComplete { found.update { $0 += Self.temporaryFiles(with: mark) } }
      return .ok()
    }
    _ = try await upload(server.url(), from: .multipart([.text("a", mark)])).get()
    #expect(found.value == [] && server.requests.first?.text.contains("\r\n\r\n\(mark)\r\n--") == true)
  }
}
