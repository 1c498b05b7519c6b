// swift-tools-version: 6.2
import PackageDescription

// Programs that measure the library and look for errors in many calls. They are a package of their own so that nobody who
// depends on the library loads them.
//
//   swift run --package-path Tests -c release Benchmarks
//   swift run --package-path Tests -c release -Xswiftc -enable-testing Simulator storm
//
// Simulation imports internal declarations of Wynd with @testable, which a release build allows only with that flag.
let package = Package(
  name: "WyndTools",
  platforms: [.macOS(.v13)],
  dependencies: [.package(name: "Wynd", path: "..")],
  targets: [
    .target(name: "AllocationCounter", path: "AllocationCounter"),
    // The sources of WyndLoopbackServer, which is not a product. Two packages cannot have a target of the same name.
    .target(name: "LoopbackServer", path: "LoopbackServer"),
    // These sources are also a part of WyndSimulationTests.
    .target(name: "Simulation", dependencies: ["Wynd"], path: "SimulationTests/Simulation"),
    .executableTarget(
      name: "Benchmarks", dependencies: ["AllocationCounter", "LoopbackServer", "Wynd"],
      path: "Benchmarks"),
    .executableTarget(
      name: "CacheSuite", dependencies: ["Wynd"], path: "CacheSuite",
      exclude: ["check", "expected-failures.txt", "suite.mjs"]),
    .executableTarget(name: "FirstDay", dependencies: ["LoopbackServer", "Wynd"], path: "FirstDay", exclude: ["run"]),
    .executableTarget(
      name: "WhatIsLeft", dependencies: ["AllocationCounter", "LoopbackServer", "Wynd"], path: "WhatIsLeft"),
    .executableTarget(name: "Simulator", dependencies: ["Simulation"], path: "Simulator"),
  ]
)
