import Foundation

/// Where URLSession differs, a test says so by this; `Tests/AppleModel/differences.txt` lists them with their reasons.
#if canImport(FoundationNetworking)
  let isOnApplePlatforms = false
#else
  let isOnApplePlatforms = true
#endif

/// What a log says of a `URLError` before its code: on Linux a sentence, elsewhere nothing.
func words(_ text: String) -> String { isOnApplePlatforms ? "" : text + " " }
