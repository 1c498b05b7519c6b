// The root of Objective-C: a class that Swift knows to be one, so that @objc optional methods mean what they mean there.
@protocol NSObjectProtocol
@end
__attribute__((objc_root_class)) @interface NSObject <NSObjectProtocol>
- (nonnull instancetype)init;
@end
