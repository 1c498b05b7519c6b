// Linux: how one attempt runs on the URLSession of swift-corelibs-foundation, which is built on libcurl: always on a
// private session, and with workarounds for its defects. OnLinux.md lists them. Apple's platforms compile nothing of
// it.
// Start with LinuxAttempt.swift.

#if canImport(FoundationNetworking)
  // URLSession is in a module of its own on Linux. With this, `import Wynd` is enough to use it there, as `import
  // Foundation` is on Apple's platforms.
  @_documentation(visibility: internal) @_exported public import FoundationNetworking
#endif
