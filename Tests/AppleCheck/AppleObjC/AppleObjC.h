// The root of Objective-C: a class that Swift knows to be one, so that @objc optional methods mean what they mean there.
// The module has the name of Apple's: a Sendable class may inherit from the NSObject of that module only.
@protocol NSObjectProtocol
@end
__attribute__((objc_root_class)) @interface NSObject <NSObjectProtocol>
- (nonnull instancetype)init;
@end
