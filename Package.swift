// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Wynd",
  platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
  products: [
    .library(name: "Wynd", targets: ["Wynd"]),
    .executable(name: "wynd", targets: ["Demo"]),
  ],
  dependencies: [],
  targets: [
    .target(name: "Wynd"),
    .target(name: "LoopbackServer"),
    // The sources of Wynd once more, through a link, so that its inner parts can be driven without opening them to anybody.
    .target(
      name: "Simulation",
      exclude: [
        "Wynd/Cache", "Wynd/Client", "Wynd/Combine", "Wynd/Endpoint", "Wynd/Logging", "Wynd/Testing", "Wynd/Transfer",
        "Wynd/Wynd.docc", "Wynd/Core/NetworkPerformer+performNetworkRequest.swift",
      ]),
    .target(name: "AllocationCounter"),
    .executableTarget(name: "Benchmarks", dependencies: ["Wynd", "LoopbackServer", "Simulation", "AllocationCounter"]),
    .executableTarget(name: "Demo", dependencies: ["Wynd", "LoopbackServer"]),
    .testTarget(name: "WyndTests", dependencies: ["Wynd", "LoopbackServer"]),
    .testTarget(name: "SimulationTests", dependencies: ["Simulation"]),
  ]
)
