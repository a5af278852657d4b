#include "gateway/uploads/upload_book.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

// Of the hash, what names an upload for the model.
constexpr std::size_t kNameBytes = 5;
// After its end it can still be asked for what arrived.
constexpr absl::Duration kRemembered = absl::Hours(24);

absl::Status NoSuchUpload() { return absl::NotFoundError("no such upload"); }

absl::Time EndOf(const UploadRow& row) { return row.opened + absl::FromChrono(kMaxUploadAge); }

bool IsFilled(const UploadRow& row) { return !row.request.folder && !row.files.empty(); }

std::int64_t UsedBytes(const UploadRow& row) {
  std::int64_t used = 0;
  for (const UploadedFile& file : row.files) used += file.file.size;
  for (const SentFile& part : row.parts) used += part.size;
  return used;
}

std::size_t NameBytes(const UploadRow& row) {
  std::size_t bytes = 0;
  for (const UploadedFile& file : row.files) bytes += file.file.path.size();
  for (const SentFile& part : row.parts) bytes += part.path.size();
  return bytes;
}

// For one more file.
absl::Status CheckRoom(const UploadRow& row, const SentFile& sent) {
  if (UsedBytes(row) + sent.size > row.request.max_bytes) {
    return absl::ResourceExhaustedError("more than this upload may have");
  }
  if (row.parts.size() + row.files.size() >= kMaxUploadFiles) {
    return absl::ResourceExhaustedError("too many files in one upload");
  }
  if (NameBytes(row) + sent.path.size() > kMaxUploadNameBytes) {
    return absl::ResourceExhaustedError("the names of one upload's files are too long together");
  }
  return absl::OkStatus();
}

}  // namespace

std::string UploadName(std::string_view hash) {
  return StrCat("up-", absl::BytesToHexString(ToAbsl(hash.substr(0, kNameBytes))));
}

UploadBook::UploadBook(std::vector<UploadRow> rows, const Clock& clock) : clock_(clock) {
  for (UploadRow& row : rows) {
    const std::string hash = row.hash;
    uploads_[hash].row = std::move(row);
  }
}

absl::StatusOr<UploadBook::Upload*> UploadBook::Named(const std::string& hash) {
  const auto found = uploads_.find(hash);
  if (found == uploads_.end()) return NoSuchUpload();
  return &found->second;
}

absl::StatusOr<const UploadBook::Upload*> UploadBook::Named(const std::string& hash) const {
  const auto found = uploads_.find(hash);
  if (found == uploads_.end()) return NoSuchUpload();
  return &found->second;
}

// What is on its way may come to its end.
bool UploadBook::IsOver(const Upload& upload) const {
  const absl::Time now = clock_.Now();
  const bool idle = upload.row.expires <= now && upload.moving.empty();
  return upload.row.done || idle || EndOf(upload.row) <= now;
}

int UploadBook::StreamsOf(const std::string& principal) const {
  std::size_t streams = 0;
  for (const auto& [hash, upload] : uploads_) {
    if (upload.row.request.principal == principal) streams += upload.moving.size();
  }
  return static_cast<int>(streams);
}

UploadBook::Count UploadBook::CountOf(const std::string& principal) const {
  Count count;
  for (const auto& [hash, upload] : uploads_) {
    if (upload.row.request.principal != principal) continue;
    ++count.all;
    if (!IsOver(upload)) ++count.open;
  }
  return count;
}

mcp::UploadView UploadBook::ViewOf(const Upload& upload) const {
  mcp::UploadView view;
  for (const UploadedFile& file : upload.row.files) view.files.push_back(file.file);
  view.under_way = static_cast<int>(upload.moving.size());
  view.over = IsOver(upload) || IsFilled(upload.row);
  return view;
}

void UploadBook::Wake(Upload& upload) {
  for (const auto& waiter : std::exchange(upload.waiters, {})) waiter->Deliver(true);
}

absl::Status UploadBook::Add(UploadRow row) {
  const std::lock_guard lock(mutex_);
  const Count count = CountOf(row.request.principal);
  if (count.open >= kMaxUploadsEach) {
    return absl::ResourceExhaustedError(
        StrCat(kMaxUploadsEach, " uploads are open already: use one of them, or wait an hour."));
  }
  // Twice: until the next sweep there may be more than are remembered.
  if (count.all >= kMaxUploadsEach + 2 * kMaxUploadsRemembered) {
    return absl::ResourceExhaustedError(
        "Too many uploads were opened lately: try again in some minutes.");
  }
  const std::string hash = row.hash;
  uploads_[hash].row = std::move(row);
  return absl::OkStatus();
}

absl::StatusOr<UploadRow> UploadBook::RowOf(const std::string& hash) const {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Upload* upload, Named(hash));
  return upload->row;
}

std::vector<std::string> UploadBook::OpenOnesOf(const std::string& principal) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> open;
  for (const auto& [hash, upload] : uploads_) {
    if (upload.row.request.principal == principal && !IsOver(upload)) open.push_back(hash);
  }
  return open;
}

absl::StatusOr<UploadGrant> UploadBook::Find(const std::string& hash) const {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Upload* upload, Named(hash));
  if (IsOver(*upload)) return absl::OutOfRangeError("this upload is over");
  const UploadRow& row = upload->row;
  return UploadGrant{.hash = hash,
                     .request = row.request,
                     .left_bytes = row.request.max_bytes - UsedBytes(row),
                     .filled = IsFilled(row)};
}

absl::StatusOr<UploadWait> UploadBook::WaitFor(const std::string& principal,
                                               const std::string& label, std::string_view name,
                                               bool enough) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(uploads_.begin(), uploads_.end(), [&](const auto& entry) {
    const mcp::UploadRequest& request = entry.second.row.request;
    return UploadName(entry.first) == name && request.principal == principal &&
           request.label == label;
  });
  if (found == uploads_.end()) return NoSuchUpload();
  Upload& upload = found->second;
  UploadWait wait{
      .view = ViewOf(upload), .waiter = nullptr, .lifetime = upload.row.expires - clock_.Now()};
  const bool arrived = !wait.view.files.empty() && wait.view.under_way == 0;
  if (wait.view.over || arrived || enough) return wait;
  wait.waiter = std::make_shared<Pending<bool>>();
  upload.waiters.push_back(wait.waiter);
  return wait;
}

std::optional<mcp::ArrivedFile> UploadBook::ArrivedAs(const std::string& hash, const SentFile& sent,
                                                      bool goes_on) const {
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<const Upload*> upload = Named(hash);
  if (!upload.ok() || (sent.id.empty() && !goes_on)) return std::nullopt;
  const UploadRow& row = (*upload)->row;
  // What began again under this name is another file.
  const bool begun = std::find(row.parts.begin(), row.parts.end(), sent) != row.parts.end();
  if (sent.id.empty() && begun) return std::nullopt;
  const auto found = std::find_if(row.files.begin(), row.files.end(), [&](const auto& file) {
    return file.sent_as == sent.path && file.file.size == sent.size && file.sent_id == sent.id;
  });
  if (found == row.files.end()) return std::nullopt;
  return found->file;
}

absl::StatusOr<UploadAdmission> UploadBook::Admit(const std::string& hash, const SentFile& sent) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Upload* const upload, Named(hash));
  if (upload->moving.contains(sent.path)) {
    return absl::AbortedError("this file is on its way already");
  }
  if (StreamsOf(upload->row.request.principal) >= kMaxUploadStreamsEach) {
    return absl::FailedPreconditionError("too many files are on their way at once");
  }
  std::vector<SentFile>& parts = upload->row.parts;
  const bool is_new = std::find(parts.begin(), parts.end(), sent) == parts.end();
  if (is_new) {
    RETURN_IF_ERROR(CheckRoom(upload->row, sent));
    parts.push_back(sent);
  }
  upload->moving.insert(sent.path);
  return UploadAdmission{.is_new = is_new, .end = EndOf(upload->row)};
}

void UploadBook::Stop(const std::string& hash, const std::string& path) {
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<Upload*> upload = Named(hash);
  if (!upload.ok()) return;
  (*upload)->moving.erase(path);
  Wake(**upload);
}

absl::StatusOr<absl::Time> UploadBook::Extend(const std::string& hash) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Upload* const upload, Named(hash));
  const absl::Time later = clock_.Now() + absl::FromChrono(kUploadLifetime);
  upload->row.expires = std::min(later, EndOf(upload->row));
  return upload->row.expires;
}

bool UploadBook::Bind(const std::string& hash, const std::string& generation) {
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<Upload*> upload = Named(hash);
  if (!upload.ok() || !(*upload)->row.generation.empty()) return false;
  (*upload)->row.generation = generation;
  return true;
}

absl::Status UploadBook::AddFile(const std::string& hash, const SentFile& sent, UploadedFile file) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Upload* const upload, Named(hash));
  std::erase(upload->row.parts, sent);
  upload->row.files.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status UploadBook::End(const std::string& hash) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Upload* const upload, Named(hash));
  upload->row.done = true;
  Wake(*upload);
  return absl::OkStatus();
}

bool UploadBook::IsForgotten(const UploadRow& row) const {
  return row.expires < clock_.Now() - kRemembered;
}

std::vector<UploadLeftover> UploadBook::Leftovers() const {
  const std::lock_guard lock(mutex_);
  std::vector<const UploadRow*> over;
  for (const auto& [hash, upload] : uploads_) {
    if (IsOver(upload) && upload.moving.empty()) over.push_back(&upload.row);
  }
  std::sort(over.begin(), over.end(),
            [](const auto* a, const auto* b) { return a->expires > b->expires; });
  absl::flat_hash_map<std::string, std::size_t> newer;  // By principal.
  std::vector<UploadLeftover> leftovers;
  for (const UploadRow* row : over) {
    const bool forget =
        newer[row->request.principal]++ >= kMaxUploadsRemembered || IsForgotten(*row);
    if (forget || !row->parts.empty()) leftovers.push_back({.row = *row, .forget = forget});
  }
  return leftovers;
}

void UploadBook::DropPart(const std::string& hash, const SentFile& part) {
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<Upload*> upload = Named(hash);
  if (upload.ok()) std::erase((*upload)->row.parts, part);
}

void UploadBook::Forget(const std::string& hash) {
  const std::lock_guard lock(mutex_);
  uploads_.erase(hash);
}

}  // namespace sandkeep
