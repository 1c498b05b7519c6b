// swift-tools-version: 6.2
import PackageDescription

// Only where the toolchain has no SwiftSyntax of its own: `run` builds the tool without this package otherwise.
let package = Package(
  name: "Mutation",
  platforms: [.macOS(.v13)],
  dependencies: [.package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1")],
  targets: [
    .executableTarget(
      name: "Mutation",
      dependencies: [
        .product(name: "SwiftParser", package: "swift-syntax"), .product(name: "SwiftSyntax", package: "swift-syntax"),
      ],
      path: "Tool")
  ]
)
