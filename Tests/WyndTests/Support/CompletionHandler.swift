/// Waits for the value that a call passes to its completion handler.
@discardableResult func handlerValue<Value: Sendable>(_ call: (@escaping @Sendable (Value) -> Void) -> some Any) async
  -> Value
{
  await withCheckedContinuation { continuation in _ = call { continuation.resume(returning: $0) } }
}
