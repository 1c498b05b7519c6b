// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// A stand-in for the part of SwiftUI that ExpenseList.swift uses, so that its types can be checked on Linux. The declarations
// follow Apple's documentation, and do nothing.
public import Foundation

@MainActor @preconcurrency public protocol View {
  associatedtype Body: View
  @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}
extension Never: View { public var body: Never { return fatalError() } }

@resultBuilder public enum ViewBuilder {
  public static func buildBlock<each Content: View>(_ content: repeat each Content) -> some View { StandIn() }
  public static func buildIf<Content: View>(_ content: Content?) -> some View { StandIn() }
}
public struct StandIn: View { public var body: Never { return fatalError() } }

@propertyWrapper public struct State<Value> {
  public init(wrappedValue: Value) {}
  public init(initialValue: Value) {}
  public var wrappedValue: Value {
    get { fatalError() }
    nonmutating set {}
  }
  public var projectedValue: Binding<Value> { fatalError() }
}
@dynamicMemberLookup public struct Binding<Value> {
  public subscript<Member>(dynamicMember member: WritableKeyPath<Value, Member>) -> Binding<Member> { fatalError() }
}

public struct Text: View {
  public init(_ content: some StringProtocol) {}
  public var body: Never { return fatalError() }
}
public struct TextField: View {
  public init(_ title: some StringProtocol, text: Binding<String>) {}
  public var body: Never { return fatalError() }
}
public struct SecureField: View {
  public init(_ title: some StringProtocol, text: Binding<String>) {}
  public var body: Never { return fatalError() }
}
public struct Button: View {
  public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}
  public var body: Never { return fatalError() }
}
public struct Form: View {
  public init(@ViewBuilder content: () -> some View) {}
  public var body: Never { return fatalError() }
}
public struct List: View {
  public init<Rows: RandomAccessCollection>(
    _ data: Rows, @ViewBuilder rowContent: @escaping (Rows.Element) -> some View
  ) where Rows.Element: Identifiable {}
  public var body: Never { return fatalError() }
}
public struct Alignment: Sendable {
  public static let bottom = Alignment()
}
extension View {
  public func task(_ action: @escaping @MainActor @Sendable () async -> Void) -> some View { StandIn() }
  public func refreshable(action: @escaping @MainActor @Sendable () async -> Void) -> some View { StandIn() }
  public func overlay(alignment: Alignment, @ViewBuilder content: () -> some View) -> some View { StandIn() }
  public func sheet(isPresented: Binding<Bool>, @ViewBuilder content: @escaping () -> some View) -> some View {
    StandIn()
  }
}
