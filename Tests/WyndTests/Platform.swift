import Foundation

/// Where URLSession differs, a test says so by this; `Tests/AppleModel/differences.txt` lists them with their reasons.
#if canImport(FoundationNetworking)
  let isOnApplePlatforms = false
#else
  let isOnApplePlatforms = true
#endif

/// What people read of a `URLError`: the system's own text, where it has one.
func sentence(_ code: URLError.Code, onLinux text: String) -> String {
  isOnApplePlatforms ? URLError(code).localizedDescription : text
}
