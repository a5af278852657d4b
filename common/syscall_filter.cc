#include "common/syscall_filter.h"

#include <cerrno>

#include "common/sanitizers.h"

namespace sandkeep {

SyscallFilter::SyscallFilter() : filter_(::seccomp_init(SCMP_ACT_KILL_PROCESS)) {
  if (filter_ == nullptr) error_ = ENOMEM;
}

void SyscallFilter::Allow(std::initializer_list<int> calls) {
  for (const int call : calls) Add(SCMP_ACT_ALLOW, call, {});
}

void SyscallFilter::AllowIf(int call, const scmp_arg_cmp& condition) {
  Add(SCMP_ACT_ALLOW, call, {condition});
}

void SyscallFilter::Refuse(int call, int error) {
  Add(SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), call, {});
}

void SyscallFilter::Add(std::uint32_t action, int call,
                        std::initializer_list<scmp_arg_cmp> conditions) {
  if (error_ != 0) return;
  // libseccomp returns negated errno values.
  error_ = -::seccomp_rule_add_array(filter_.get(), action, call,
                                     static_cast<unsigned>(conditions.size()), conditions.begin());
}

int SyscallFilter::Load() {
  if (error_ != 0 || kSanitized) return error_;
  return -::seccomp_load(filter_.get());
}

scmp_arg_cmp ArgumentIs(unsigned index, std::uint64_t value) {
  return {.arg = index, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};
}

scmp_arg_cmp ArgumentHas(unsigned index, std::uint64_t bits) {
  return {.arg = index, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = bits};
}

scmp_arg_cmp ArgumentLacks(unsigned index, std::uint64_t bits) {
  return {.arg = index, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = 0};
}

}  // namespace sandkeep
