// swift-tools-version: 6.1
import PackageDescription

// Combine exists on Apple's systems only. Here OpenCombine stands for it, under its name, so that what is written for it is
// compiled and run on Linux too.
let package = Package(
  name: "CombineCheck",
  dependencies: [.package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0")],
  targets: [
    .target(name: "Combine", dependencies: ["OpenCombine"]),
    .target(name: "LoopbackServer"),
    .target(name: "Wynd", dependencies: ["Combine"], exclude: ["Wynd/Wynd.docc"]),
    .testTarget(name: "CombineTests", dependencies: ["Wynd", "Combine", "LoopbackServer"]),
  ]
)
