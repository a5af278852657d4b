// The system calls that a process is left with, by libseccomp: any other ends it on the spot, with
// all its threads. What is named here is meant to be read as the whole list.
//
// Built and loaded before the process's first thread, which is what makes it hold for all of them;
// needs no_new_privs. Errors are errno values, 0 if all is well; the first of them is kept, and
// Load returns it.
#pragma once

#include <seccomp.h>

#include <cstdint>
#include <initializer_list>
#include <memory>

namespace sandkeep {

class SyscallFilter {
 public:
  SyscallFilter();

  void Allow(std::initializer_list<int> calls);
  // Where the call's argument satisfies it; for another, and together with Allow, say it again.
  void AllowIf(int call, const scmp_arg_cmp& condition);
  // The call fails with `error`, and the process goes on.
  void Refuse(int call, int error);

  // Does nothing where common/sanitizers.h says so.
  int Load();

 private:
  struct Release {
    void operator()(void* filter) const { ::seccomp_release(filter); }
  };

  void Add(std::uint32_t action, int call, std::initializer_list<scmp_arg_cmp> conditions);

  std::unique_ptr<void, Release> filter_;
  int error_ = 0;
};

// The conditions: the argument, counted from 0, is `value`; has all of `bits`; has none of them.
scmp_arg_cmp ArgumentIs(unsigned index, std::uint64_t value);
scmp_arg_cmp ArgumentHas(unsigned index, std::uint64_t bits);
scmp_arg_cmp ArgumentLacks(unsigned index, std::uint64_t bits);

}  // namespace sandkeep
