// Who a bearer token is. The keys stand in memory by their hash, so that a look-up costs well under
// a microsecond and never touches the disk; a thread of its own reads the database again soon after
// the `keys` command has changed it, and at once (but not more often than kKeyRefreshPause) when a
// key isn't known: it may have been added a moment ago. The thread's death is the destructor's.
//
// Look-ups from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "gateway/keys/key_table.h"

namespace sandkeep {

class AccessKeys {
 public:
  // Reads the table and starts the thread. `clock` says when rotated keys end. `also` is called on
  // the thread after whatever change of the database, which has more than keys, and again until it
  // succeeds: what it failed to read may be a revocation.
  using Also = std::function<absl::Status()>;
  static absl::StatusOr<std::unique_ptr<AccessKeys>> Start(KeyTable table,
                                                           const Clock& clock = SystemClock(),
                                                           Also also = {});
  ~AccessKeys();
  AccessKeys(const AccessKeys&) = delete;
  AccessKeys& operator=(const AccessKeys&) = delete;

  // nullopt: no such key. By hash: how long a look-up takes tells nothing about any key.
  std::optional<KeyOwner> Find(std::string_view key);
  // The same by HashAccessKey. One that isn't known doesn't make the thread look.
  std::optional<KeyOwner> FindByHash(std::string_view hash) const;
  // Whether `principal` hasn't been removed; with or without keys.
  bool HasPrincipal(std::string_view principal) const;

  bool empty() const;

 private:
  AccessKeys(KeyTable table, const Clock& clock, Also also, std::int64_t version, KnownKeys known);

  void Refresh();
  bool WaitForNextRefresh();
  void ReadAgainIfChanged();
  std::shared_ptr<const KnownKeys> Snapshot() const;

  const Clock& clock_;

  // The thread's alone once it runs.
  KeyTable table_;
  const Also also_;
  std::int64_t version_;  // Of which all has been read.

  // Guards what stands below it, up to the thread.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const KnownKeys> known_;
  bool missed_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sandkeep
