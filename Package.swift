// swift-tools-version: 6.2
import PackageDescription

// An app that depends on this package shares its names of products and targets, so all of them begin with the library's
// name. Benchmarks are in a package of their own, Tests/Package.swift.
let package = Package(
  name: "Wynd",
  platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
  products: [
    .library(name: "Wynd", targets: ["Wynd"]),
    .executable(name: "wynd-fetch", targets: ["WyndFetch"]),
  ],
  dependencies: [],
  targets: [
    .target(name: "Wynd"),
    .executableTarget(name: "WyndFetch", dependencies: ["Wynd", "WyndLoopbackServer"]),
    .target(name: "WyndLoopbackServer", path: "Tests/LoopbackServer"),
    .testTarget(name: "WyndTests", dependencies: ["Wynd", "WyndLoopbackServer"]),
    .testTarget(name: "WyndSimulationTests", dependencies: ["Wynd"], path: "Tests/SimulationTests"),
  ]
)
