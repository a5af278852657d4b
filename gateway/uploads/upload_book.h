// What is known of each upload, in memory: who may put what where, what is on its way, what has
// arrived, and who waits for it. Decides only; what is to outlive this process is written by its
// owner (uploads.h). Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/pending.h"
#include "gateway/mcp/upload_desk.h"
#include "gateway/uploads/upload_table.h"

namespace sandkeep {

// What a token opens.
struct UploadGrant {
  std::string hash;
  mcp::UploadRequest request;
  std::int64_t left_bytes = 0;
  bool filled = false;  // One file was asked for, and it is there.
};

// A piece of a file may come.
struct UploadAdmission {
  bool is_new = false;  // Nothing of this file came before, as far as is known.
  absl::Time end;       // Of its upload, however often that is extended.
};

// What whoever waits for an upload sees.
struct UploadWait {
  mcp::UploadView view;
  // Delivered to when something changes; nullptr: there is nothing to wait for.
  std::shared_ptr<Pending<bool>> waiter;
  absl::Duration lifetime;
};

// An upload that is over, with parts that nobody will finish, or to be forgotten.
struct UploadLeftover {
  UploadRow row;
  bool forget = false;
};

// `up-` and ten hexadecimal digits: what names an upload for the model.
std::string UploadName(std::string_view hash);

class UploadBook {
 public:
  UploadBook(std::vector<UploadRow> rows, const Clock& clock);

  // ResourceExhausted: its principal has as many as it may.
  absl::Status Add(UploadRow row);
  absl::StatusOr<UploadRow> RowOf(const std::string& hash) const;
  std::vector<std::string> OpenOnesOf(const std::string& principal) const;
  // NotFound; OutOfRange: it is over.
  absl::StatusOr<UploadGrant> Find(const std::string& hash) const;

  // As the model names it. `enough`: it isn't waited for any longer.
  absl::StatusOr<UploadWait> WaitFor(const std::string& principal, const std::string& label,
                                     std::string_view name, bool enough);

  // What this very file became, if it has arrived: see uploads.h.
  std::optional<mcp::ArrivedFile> ArrivedAs(const std::string& hash, const SentFile& sent,
                                            bool goes_on) const;

  // The errors of Uploads::Begin. What is admitted counts as on its way until Stop.
  absl::StatusOr<UploadAdmission> Admit(const std::string& hash, const SentFile& sent);
  void Stop(const std::string& hash, const std::string& path);

  // Its new end.
  absl::StatusOr<absl::Time> Extend(const std::string& hash);
  // False: it has a volume already, or is gone.
  bool Bind(const std::string& hash, const std::string& generation);
  // In the part's place.
  absl::Status AddFile(const std::string& hash, const SentFile& sent, UploadedFile file);
  absl::Status End(const std::string& hash);

  std::vector<UploadLeftover> Leftovers() const;
  // What the sandbox itself has put in the way of its parts stays from here on.
  bool IsForgotten(const UploadRow& row) const;
  void DropPart(const std::string& hash, const SentFile& part);
  void Forget(const std::string& hash);

 private:
  struct Upload {
    UploadRow row;
    absl::flat_hash_set<std::string> moving;  // Paths of parts of which a piece is on its way.
    std::vector<std::shared_ptr<Pending<bool>>> waiters;
  };
  // Open ones and, of those that are over, those that are remembered.
  struct Count {
    std::size_t open = 0;
    std::size_t all = 0;
  };

  absl::StatusOr<Upload*> Named(const std::string& hash);
  absl::StatusOr<const Upload*> Named(const std::string& hash) const;
  Count CountOf(const std::string& principal) const;
  int StreamsOf(const std::string& principal) const;
  bool IsOver(const Upload& upload) const;
  mcp::UploadView ViewOf(const Upload& upload) const;
  static void Wake(Upload& upload);

  const Clock& clock_;
  mutable std::mutex mutex_;                          // Guards uploads_.
  absl::flat_hash_map<std::string, Upload> uploads_;  // By hash.
};

}  // namespace sandkeep
