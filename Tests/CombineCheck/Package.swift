// swift-tools-version: 6.1
import PackageDescription

// Combine and os exist on Apple's systems only. Here OpenCombine and a few lines stand for them, under their names, so that
// what is written for them is compiled and run on Linux too.
let package = Package(
  name: "CombineCheck",
  dependencies: [.package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0")],
  targets: [
    .target(name: "Combine", dependencies: ["OpenCombine"]),
    .target(name: "os"),
    .target(name: "LoopbackServer"),
    .target(name: "Wynd", dependencies: ["Combine", "os"], exclude: ["Wynd/Wynd.docc"]),
    .testTarget(name: "CombineTests", dependencies: ["Wynd", "Combine", "os", "LoopbackServer"]),
  ]
)
