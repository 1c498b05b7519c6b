import Foundation

/// Where URLSession differs, a test says so by this; `Tests/AppleModel/differences.txt` lists them with their reasons.
#if canImport(FoundationNetworking)
  let isOnApplePlatforms = false
#else
  let isOnApplePlatforms = true
#endif
