// A pattern for paths: `*` and `?` within one name, `[abc]`, `[a-z]`, `[!a]`, and `**` for any
// number of folders; a `[` without its end is itself. As in a shell, what begins with a dot is only
// matched by a dot: `.**` stands for any folders, those too.
//
// Matched name by name on the way down a tree, so that no folder's name is looked at again for what
// lies in it. A name costs a few words for each of its bytes, whatever the pattern is. Plain value;
// any thread.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/limits.h"

namespace sandkeep {

class Glob {
 public:
  // Where in the pattern the names so far may have led: all places at once.
  using State = std::bitset<kMaxPatternBytes + 2>;

  // InvalidArgument: over kMaxPatternBytes, absolute, `..` or NUL in it. Empty: every name of the
  // folder itself, dots too.
  static absl::StatusOr<Glob> Parse(std::string_view pattern);

  // In the folder that is searched.
  State Start() const { return start_; }
  // One name further down.
  State Step(const State& folder, std::string_view name) const;
  // The names so far are a path that the pattern means.
  bool IsMatch(const State& state) const { return state[accept_]; }
  // Something below them may be.
  bool LeadsOn(const State& state) const { return (state & begins_).any(); }

 private:
  Glob() : bytes_(256) {}
  void AddPart(std::string_view part);
  void AddAnyFolders(bool dotted);
  // All that stands where a `**` stands may stand behind it too.
  State PastAnyFolders(const State& state) const { return state | (state & any_folders_) << 1; }
  State PastStars(const State& state) const { return state | (state & stars_) << 1; }

  // A place for each `*`, `**` or single byte of the pattern, one for the end of each part, one for
  // the end of all.
  std::size_t accept_ = 0;
  std::vector<State> bytes_;  // By byte: the places that it leads out of.
  State stars_;
  State any_folders_;
  State any_dotted_;  // Of these, those that take what begins with a dot.
  State begins_;      // Of parts.
  State dotted_;      // Of parts that begin with a dot themselves.
  State ends_;        // Of parts.
  State start_;
};

}  // namespace sandkeep
