// Whether this build runs under AddressSanitizer or ThreadSanitizer. Their runtimes make system
// calls and open files of their own, which change with the compiler: what confines a process to its
// own needs is off in such a build, and only there.
#pragma once

namespace sandkeep {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace sandkeep
