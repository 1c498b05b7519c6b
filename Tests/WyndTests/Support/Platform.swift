import Foundation

/// For tests whose expectation depends on the platform; `Tests/AppleModel/differences.txt` lists them with reasons.
#if canImport(FoundationNetworking)
  let isOnApplePlatforms = false
#else
  let isOnApplePlatforms = true
#endif
