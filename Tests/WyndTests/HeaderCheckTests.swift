import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What would forge a request is never sent.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct HeaderCheckTests {
  let session = URLSession(configuration: .ephemeral)
  /// RFC 9110 §5.6.2.
  static let token = Set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

  @Test func aFieldNameIsMadeOfTheCharactersOfAToken() async throws {
    let server = try LoopbackServer(script: .ok())
    var sent = 0
    for byte in UInt8(0)..<128 {
      let character = Character(UnicodeScalar(byte))
      var request = URLRequest(url: server.url())
      request.setValue("1", forHTTPHeaderField: "X\(character)Y")
      let error = await session.result(of: request).error
      if Self.token.contains(character) {
        sent += 1
        #expect(error == nil, "\(byte)")
        #expect(
          server.requests.last?.headers.contains { $0.name.lowercased() == "x\(character)y".lowercased() } == true)
      } else {
        guard case .invalidRequest? = error else { Issue.record("\(byte): \(String(describing: error))"); continue }
      }
    }
    #expect(server.requests.count == sent)
    var request = URLRequest(url: server.url())
    request.setValue("1", forHTTPHeaderField: "X-Ä")
    guard case .invalidRequest? = await session.result(of: request).error else { Issue.record("sent"); return }
    #expect(server.requests.count == sent)
  }

  @Test func aMethodIsMadeOfTheCharactersOfAToken() async throws {
    let script = NetworkScript.scripted([.ok("x")])
    let client = NetworkClient(script: script)
    let url = try #require(URL(string: "https://a.example/"))
    for byte in UInt8(0)..<128 {
      let character = Character(UnicodeScalar(byte))
      let before = script.requests.count
      let request = URLRequest(url: url, method: "X\(character)Y")
      _ = try? await client.performNetworkRequest(request)
      #expect(script.requests.count - before == (Self.token.contains(character) ? 1 : 0), "\(byte)")
    }
  }

  static let forged = ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\u{0}b", "\n", "a\r", "\u{0}"]

  /// Foundation on Linux drops such a value from a `URLRequest`; elsewhere the call ends before anything is sent.
  @Test(arguments: forged) func aValueWithALineBreakOrNULIsNotSent(_ value: String) async throws {
    let server = try LoopbackServer(script: .ok())
    var request = URLRequest(url: server.url())
    request.setValue(value, forHTTPHeaderField: "X-Value")
    let isKept = request.value(forHTTPHeaderField: "X-Value") != nil
    let error = await session.result(of: request).error
    if isKept {
      guard case .invalidRequest? = error else { Issue.record("\(String(describing: error))"); return }
    }
    #expect(server.requests.count == (isKept ? 0 : 1))
    #expect(!server.requests.contains { $0.value("X-Evil") != nil })
  }

  @Test(arguments: forged) func anEndpointWithSuchAValueIsRefused(_ value: String) async throws {
    let error = #expect(throws: NetworkError.self) { try Call(headers: [.init("X-Value", value)]).request }
    guard case .invalidRequest(let reason)? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(reason.contains("X-Value") && !reason.contains("\n"))
  }

  @Test func aFieldWithoutANameIsRefused() throws {
    let error = #expect(throws: NetworkError.self) { try Call(headers: [.init("", "1")]).request }
    guard case .invalidRequest? = error else { Issue.record("\(String(describing: error))"); return }
  }

  @Test func aRequestThatIsRefusedTellsOneEvent() async throws {
    let server = try LoopbackServer(script: .ok())
    let log = EventLog()
    let request = URLRequest(url: server.url(), method: "GE T")
    let error = await session.result(of: request, policy: RetryPolicy(onEvent: log.add)).error
    #expect(error?.shouldRetry == false)
    #expect(error?.attempts.isEmpty == true)
    #expect(log.events.map(\.attempt) == [0])
    #expect(log.gaveUp == .notRetryable)
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: ["tab\tinside", "comma, semicolon; \"quotes\" {}()", "caf\u{E9}", ""])
  func otherValuesAreSentAsTheyAre(_ value: String) async throws {
    let server = try LoopbackServer(script: .ok())
    var request = URLRequest(url: server.url())
    request.setValue(value, forHTTPHeaderField: "X-Value")
    #expect(await session.result(of: request).error == nil)
    #expect(server.requests.first?.value("X-Value") ?? "" == value)
  }

  // MARK: The fields of an endpoint

  struct Order: Encodable { var item = "a" }
  struct Call: Endpoint {
    typealias Response = [String]
    var path = "/order"
    var host = "a.example"
    var method: URLRequest.Method { .post }
    var headers: [URLRequest.Header] = []
    var body: URLRequest.Body?
  }

  /// A field that the endpoint sets itself is not set again, however its name is written.
  @Test(arguments: ["Content-Type", "content-type", "CONTENT-TYPE", "Accept", "accept", "aCCEPT"])
  func aFieldThatIsSetWinsWhateverItsCase(_ name: String) throws {
    let request = try Call(headers: [.init(name, "text/x-mine")], body: .json(Order())).request
    #expect(request.value(forHTTPHeaderField: name) == "text/x-mine")
    let accept = request.value(forHTTPHeaderField: "Accept")
    let type = request.value(forHTTPHeaderField: "Content-Type")
    #expect([accept, type].contains("application/json"))
  }

  /// The name of a field or of a file could forge a line of a log, and turn a terminal's colors.
  @Test func aTextForALogIsOneLineWithoutControlCharacters() {
    let forged = "a\r\n2026-01-01 ok\u{1B}[2J"
    let file = URL(fileURLWithPath: "/films/\(forged)")
    let errors: [any Error] = [
      NetworkError.invalidRequest(reason: forged), TransferError.destinationExists(file), TransferError.inUse(file),
      TransferError.unusableFile(file, reason: forged), TransferError.invalidResponse(reason: forged),
      NetworkError.transferFailed(TransferError.inUse(file)),
    ]
    for error in errors {
      let text = "\(error)"
      #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control }, "\(text.debugDescription)")
      #expect(text.contains("2026"))
    }
    let long = TransferError.invalidResponse(reason: String(repeating: "x", count: 100_000))
    #expect(long.description.count < 1_100)
    #expect(NetworkError.invalidRequest(reason: String(repeating: "x", count: 100_000)).description.count < 10_100)
  }
}
