#if canImport(FoundationNetworking)
  // URLSession is in a module of its own on Linux. With this, `import Wynd` is enough to use it there, as `import
  // Foundation` is on Apple's platforms.
  @_documentation(visibility: internal) @_exported public import FoundationNetworking
#endif
