import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a test passes to a form of a call. Each form takes what it has a parameter for.
struct CallArguments: Sendable {
  var request = URLRequest(url: .example)
  var body = Data("body".utf8)
  var folder: Folder
  var maxRetries: Int?
  var allowEmptyData = false
  var acceptsAnyStatus = false
  var policy = RetryPolicy.never
  var decoder: JSONDecoder?
  var overwrites = false
  var resumes = false
  var resumesAs: String?
  var reconnects: Bool? = false
  var onProgress: (@Sendable (TransferProgress) -> Void)?
  var validate: (@Sendable (URL) throws -> Void)?

  /// Where a download is stored.
  var destination: URL { folder.file("download") }
  var url: URL { request.url ?? .example }
  /// A file with the body of an upload.
  var bodyFile: URL {
    get throws {
      try body.write(to: folder.file("upload"))
      return folder.file("upload")
    }
  }
}

/// One public form of a call: a function of `NetworkPerformer`. What it returns is made a text.
struct CallForm: Sendable, CustomTestStringConvertible {
  typealias Performer = any NetworkPerformer
  typealias Handler<Value> = @Sendable (Result<Value, NetworkError>) -> Void

  /// As in `Tests/PublicAPI/Wynd.swiftinterface`. Functions that differ in types only have the same one.
  let selector: String
  /// Whether it takes a `URL`, and no request.
  let takesURL: Bool
  let call: @Sendable (Performer, CallArguments) async throws -> String
  /// Starts a form with a completion handler, which gets the queue that the handler was called on.
  let start:
    (@Sendable (Performer, CallArguments, @escaping @Sendable (Error?, OperationQueue?) -> Void) -> NetworkTask)?

  init(
    _ selector: String, takesURL: Bool = false,
    _ call: @escaping @Sendable (Performer, CallArguments) async throws -> String
  ) {
    self.selector = selector
    self.takesURL = takesURL
    self.call = call
    start = nil
  }

  init<Value: Sendable>(
    _ selector: String,
    handler start: @escaping @Sendable (Performer, CallArguments, @escaping Handler<Value>) -> NetworkTask,
    text: @escaping @Sendable (Value) throws -> String
  ) {
    self.selector = selector
    takesURL = false
    call = { performer, arguments in
      try text(try await handlerValue { start(performer, arguments, $0) }.get())
    }
    self.start = { performer, arguments, end in
      start(performer, arguments) { end($0.error, OperationQueue.current) }
    }
  }

  var labels: Set<String> { Set(selector.split { "(:)".contains($0) }.map(String.init).dropFirst()) }
  var testDescription: String { selector }
  /// Not an endpoint, and no `URL`.
  var takesRequest: Bool { !selector.hasPrefix("load") && !takesURL }

  static func having(_ label: String) -> [CallForm] { all.filter { $0.labels.contains(label) } }
}

/// The response of `load`.
struct CallNote: Codable, Sendable, Equatable { var firstLine: String }

/// An endpoint that sends a request as it is.
private struct CallEndpoint: Endpoint {
  let arguments: CallArguments
  var path: String { "" }
  var url: URL { arguments.url }
  var method: NetworkMethod { NetworkMethod(rawValue: arguments.request.httpMethod ?? "GET") }
  var headers: [String: String] { arguments.request.allHTTPHeaderFields ?? [:] }
  var body: RequestBody { arguments.request.httpBody.map { .data($0) } ?? .empty }
  func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> CallNote {
    CallNote(firstLine: data.text)
  }
}

extension CallForm {
  static let all: [CallForm] = requests + loads + transfers

  private static let requests: [CallForm] = [
    CallForm("performNetworkRequest(_:maxRetries:allowEmptyData:policy:)") {
      try await $0.performNetworkRequest(
        $1.request, maxRetries: $1.maxRetries, allowEmptyData: $1.allowEmptyData, policy: $1.policy
      ).text
    },
    CallForm("performNetworkRequest(_:maxRetries:allowEmptyData:policy:completionHandler:)") {
      $0.performNetworkRequest(
        $1.request, maxRetries: $1.maxRetries, allowEmptyData: $1.allowEmptyData, policy: $1.policy,
        completionHandler: $2)
    } text: {
      $0.text
    },
    CallForm("networkResponse(for:maxRetries:allowEmptyData:acceptsAnyStatus:policy:)") {
      try await $0.networkResponse(
        for: $1.request, maxRetries: $1.maxRetries, allowEmptyData: $1.allowEmptyData,
        acceptsAnyStatus: $1.acceptsAnyStatus,
        policy: $1.policy
      ).value.text
    },
    CallForm("networkResponse(for:maxRetries:allowEmptyData:acceptsAnyStatus:policy:completionHandler:)") {
      $0.networkResponse(
        for: $1.request, maxRetries: $1.maxRetries, allowEmptyData: $1.allowEmptyData,
        acceptsAnyStatus: $1.acceptsAnyStatus,
        policy: $1.policy, completionHandler: $2)
    } text: {
      $0.value.text
    },
    CallForm("networkData(for:policy:)") { try await $0.networkData(for: $1.request, policy: $1.policy).0.text },
    CallForm("networkData(from:policy:)", takesURL: true) {
      try await $0.networkData(from: $1.url, policy: $1.policy).0.text
    },
    CallForm("networkDataTask(with:policy:completionHandler:)") { performer, arguments, end in
      let task = performer.networkDataTask(with: arguments.request, policy: arguments.policy) { data, _, error in
        end(error.map { .failure($0 as? NetworkError ?? .generalError($0)) } ?? .success(data ?? Data()))
      }
      task.resume()
      return task
    } text: {
      $0.text
    },
  ]

  private static let loads: [CallForm] = [
    CallForm("load(_:maxRetries:policy:onProgress:)") {
      try await $0.load(
        CallEndpoint(arguments: $1), maxRetries: $1.maxRetries, policy: $1.policy, onProgress: $1.onProgress
      ).firstLine
    },
    CallForm("load(_:maxRetries:policy:onProgress:completionHandler:)") {
      $0.load(
        CallEndpoint(arguments: $1), maxRetries: $1.maxRetries, policy: $1.policy, onProgress: $1.onProgress,
        completionHandler: $2)
    } text: {
      $0.firstLine
    },
    CallForm("loadResponse(_:maxRetries:policy:onProgress:)") {
      try await $0.loadResponse(
        CallEndpoint(arguments: $1), maxRetries: $1.maxRetries, policy: $1.policy, onProgress: $1.onProgress
      ).value.firstLine
    },
    CallForm("loadResponse(_:maxRetries:policy:onProgress:completionHandler:)") {
      $0.loadResponse(
        CallEndpoint(arguments: $1), maxRetries: $1.maxRetries, policy: $1.policy, onProgress: $1.onProgress,
        completionHandler: $2)
    } text: {
      $0.value.firstLine
    },
    CallForm("load(_:as:decoder:maxRetries:policy:)", takesURL: true) {
      let note: CallNote = try await $0.load(
        $1.url, decoder: $1.decoder, maxRetries: $1.maxRetries, policy: $1.policy)
      return note.firstLine
    },
    CallForm("load(_:as:decoder:maxRetries:policy:)") {
      let note: CallNote = try await $0.load(
        $1.request, decoder: $1.decoder, maxRetries: $1.maxRetries, policy: $1.policy)
      return note.firstLine
    },
    CallForm("load(_:as:decoder:maxRetries:policy:)") {
      let request: some NetworkRequestConvertible = $1.request
      return try await $0.load(
        request, as: CallNote.self, decoder: $1.decoder, maxRetries: $1.maxRetries, policy: $1.policy
      ).firstLine
    },
    CallForm("load(_:as:decoder:maxRetries:policy:completionHandler:)") {
      $0.load(
        $1.request, as: CallNote.self, decoder: $1.decoder, maxRetries: $1.maxRetries, policy: $1.policy,
        completionHandler: $2)
    } text: {
      $0.firstLine
    },
  ]

  private static let transfers: [CallForm] = [
    CallForm("performNetworkDownload(_:to:overwrites:resumes:resumesAs:policy:onProgress:validate:)") {
      try Data(
        contentsOf: await $0.performNetworkDownload(
          $1.request, to: $1.destination, overwrites: $1.overwrites, resumes: $1.resumes, resumesAs: $1.resumesAs,
          policy: $1.policy,
          onProgress: $1.onProgress, validate: $1.validate
        ).value
      ).text
    },
    CallForm("performNetworkDownload(_:to:overwrites:resumes:resumesAs:policy:onProgress:validate:completionHandler:)")
    {
      $0.performNetworkDownload(
        $1.request, to: $1.destination, overwrites: $1.overwrites, resumes: $1.resumes, resumesAs: $1.resumesAs,
        policy: $1.policy,
        onProgress: $1.onProgress, validate: $1.validate, completionHandler: $2)
    } text: {
      try Data(contentsOf: $0.value).text
    },
    CallForm("performNetworkUpload(_:from:policy:onProgress:)") {
      try await $0.performNetworkUpload($1.request, from: .data($1.body), policy: $1.policy, onProgress: $1.onProgress)
        .value
        .text
    },
    CallForm("performNetworkUpload(_:from:policy:onProgress:completionHandler:)") {
      $0.performNetworkUpload(
        $1.request, from: .data($1.body), policy: $1.policy, onProgress: $1.onProgress, completionHandler: $2)
    } text: {
      $0.value.text
    },
    CallForm("performNetworkUpload(_:from:policy:onProgress:)") {
      try await $0.performNetworkUpload($1.request, from: $1.bodyFile, policy: $1.policy, onProgress: $1.onProgress)
        .value.text
    },
    CallForm("performNetworkUpload(_:from:policy:onProgress:)") {
      try await $0.performNetworkUpload($1.request, from: $1.body, policy: $1.policy, onProgress: $1.onProgress).value
        .text
    },
    CallForm("performNetworkUpload(_:from:policy:onProgress:completionHandler:)") {
      let file = (try? $1.bodyFile) ?? $1.destination
      return $0.performNetworkUpload(
        $1.request, from: file, policy: $1.policy, onProgress: $1.onProgress, completionHandler: $2)
    } text: {
      $0.value.text
    },
    CallForm("performNetworkUpload(_:from:policy:onProgress:completionHandler:)") {
      $0.performNetworkUpload(
        $1.request, from: $1.body, policy: $1.policy, onProgress: $1.onProgress, completionHandler: $2)
    } text: {
      $0.value.text
    },
    CallForm("networkBytes(for:acceptsAnyStatus:policy:)") {
      let bytes = try await $0.networkBytes(
        for: $1.request, acceptsAnyStatus: $1.acceptsAnyStatus, policy: $1.policy)
      return try await bytes.collected().reduce(into: Data()) { $0 += $1 }.text
    },
    CallForm("serverSentEvents(for:reconnects:policy:)") {
      try await $0.serverSentEvents(for: $1.request, reconnects: $1.reconnects, policy: $1.policy).collected().map(
        \.data
      )
      .joined()
    },
  ]
}
