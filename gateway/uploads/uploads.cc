#include "gateway/uploads/uploads.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::size_t kTokenBytes = 16;
constexpr std::size_t kPartIdBytes = 16;
// Of the hash, what names an upload for the model.
constexpr std::size_t kNameBytes = 5;
// After its end it can still be asked for what arrived.
constexpr absl::Duration kRemembered = absl::Hours(24);

std::string NameOf(std::string_view hash) {
  return StrCat("up-", absl::BytesToHexString(ToAbsl(hash.substr(0, kNameBytes))));
}

absl::Status NoSuchUpload() { return absl::NotFoundError("no such upload"); }

}  // namespace

agent::v1::WriteFileHeader UploadHeader(std::string_view hash, const mcp::UploadRequest& request,
                                        const SentFile& file) {
  agent::v1::WriteFileHeader header;
  header.mutable_sandbox()->set_principal(request.principal);
  header.mutable_sandbox()->set_label(request.label);
  header.set_path(file.path);
  header.set_size(file.size);
  const std::string named =
      StrCat(hash, ":", file.path, ":", file.size, file.id.empty() ? "" : ":", file.id);
  header.set_upload(Sha256(named).substr(0, kPartIdBytes));
  header.set_make_parents(true);
  return header;
}

absl::StatusOr<std::unique_ptr<Uploads>> Uploads::Start(Database db, AgentClient& agent,
                                                        Random& random, const Clock& clock) {
  UploadTable table(std::move(db));
  ASSIGN_OR_RETURN(std::vector<UploadRow> rows, table.Load());
  return std::unique_ptr<Uploads>(
      new Uploads(std::move(table), std::move(rows), agent, random, clock));
}

Uploads::Uploads(UploadTable table, std::vector<UploadRow> rows, AgentClient& agent, Random& random,
                 const Clock& clock)
    : agent_(agent), random_(random), clock_(clock), table_(std::move(table)) {
  for (UploadRow& row : rows) {
    const std::string hash = row.hash;
    uploads_[hash].row = std::move(row);
  }
}

Uploads::~Uploads() { thread_.join(); }

absl::Time Uploads::EndOf(const Upload& upload) const {
  return upload.row.opened + absl::FromChrono(kMaxUploadAge);
}

// What is on its way may come to its end.
bool Uploads::IsOver(const Upload& upload) const {
  const absl::Time now = clock_.Now();
  const bool idle = upload.row.expires <= now && upload.moving.empty();
  return upload.row.done || idle || EndOf(upload) <= now;
}

std::int64_t Uploads::UsedBytes(const Upload& upload) {
  std::int64_t used = 0;
  for (const UploadedFile& file : upload.row.files) used += file.file.size;
  for (const SentFile& part : upload.row.parts) used += part.size;
  return used;
}

std::size_t Uploads::NameBytes(const Upload& upload) {
  std::size_t bytes = 0;
  for (const UploadedFile& file : upload.row.files) bytes += file.file.path.size();
  for (const SentFile& part : upload.row.parts) bytes += part.path.size();
  return bytes;
}

int Uploads::StreamsOf(const std::string& principal) const {
  std::size_t streams = 0;
  for (const auto& [hash, upload] : uploads_) {
    if (upload.row.request.principal == principal) streams += upload.moving.size();
  }
  return static_cast<int>(streams);
}

Uploads::Count Uploads::CountOf(const std::string& principal) const {
  Count count;
  for (const auto& [hash, upload] : uploads_) {
    if (upload.row.request.principal != principal) continue;
    ++count.all;
    if (!IsOver(upload)) ++count.open;
  }
  return count;
}

mcp::UploadView Uploads::ViewOf(const Upload& upload) const {
  mcp::UploadView view;
  for (const UploadedFile& file : upload.row.files) view.files.push_back(file.file);
  view.under_way = static_cast<int>(upload.moving.size());
  const bool filled = !upload.row.request.folder && !view.files.empty();
  view.over = IsOver(upload) || filled;
  return view;
}

void Uploads::Wake(Upload& upload) {
  for (const auto& waiter : std::exchange(upload.waiters, {})) waiter->Deliver(true);
}

Async<mcp::OpenedUpload> Uploads::Open(mcp::UploadRequest request) {
  const std::string token = random_.Bytes(kTokenBytes);
  UploadRow row;
  row.hash = Sha256(token);
  row.request = std::move(request);
  auto looking = VolumeOf(row.request);
  CO_ASSIGN_OR_RETURN(row.generation, co_await std::move(looking));
  if (OpenOnesOf(row.request.principal).size() >= kMaxUploadsEach) {
    auto ending = EndAbandoned(row.request.principal);
    CO_RETURN_IF_ERROR(co_await std::move(ending));
  }
  row.opened = clock_.Now();
  row.expires = row.opened + absl::FromChrono(kUploadLifetime);
  {
    const std::lock_guard lock(mutex_);
    const Count count = CountOf(row.request.principal);
    if (count.open >= kMaxUploadsEach) {
      co_return absl::ResourceExhaustedError(
          StrCat(kMaxUploadsEach, " uploads are open already: use one of them, or wait an hour."));
    }
    // Twice: until the next sweep there may be more than are remembered.
    if (count.all >= kMaxUploadsEach + 2 * kMaxUploadsRemembered) {
      co_return absl::ResourceExhaustedError(
          "Too many uploads were opened lately: try again in some minutes.");
    }
    uploads_[row.hash].row = row;
  }
  auto add = [this, row] { return table_.Add(row); };
  auto adding = RunOn(thread_.get_executor(), std::move(add));
  CO_RETURN_IF_ERROR(co_await std::move(adding));
  co_return mcp::OpenedUpload{.name = NameOf(row.hash),
                              .path = StrCat("/up/", absl::WebSafeBase64Escape(token), "/"),
                              .lifetime = kUploadLifetime};
}

Async<std::string> Uploads::VolumeOf(mcp::UploadRequest request) {
  agent::v1::GetSandboxRequest ask;
  ask.mutable_sandbox()->set_principal(request.principal);
  ask.mutable_sandbox()->set_label(request.label);
  auto asking = agent_.GetSandbox(std::move(ask));
  const absl::StatusOr<agent::v1::Sandbox> sandbox = co_await std::move(asking);
  if (absl::IsNotFound(sandbox.status())) co_return std::string();
  CO_RETURN_IF_ERROR(sandbox.status());
  co_return sandbox->generation();
}

absl::StatusOr<UploadRow> Uploads::RowOf(const std::string& hash) const {
  const std::lock_guard lock(mutex_);
  const auto found = uploads_.find(hash);
  if (found == uploads_.end()) return NoSuchUpload();
  return found->second.row;
}

std::vector<std::string> Uploads::OpenOnesOf(const std::string& principal) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> open;
  for (const auto& [hash, upload] : uploads_) {
    if (upload.row.request.principal == principal && !IsOver(upload)) open.push_back(hash);
  }
  return open;
}

Async<void> Uploads::CheckVolume(std::string hash) {
  CO_ASSIGN_OR_RETURN(const UploadRow row, RowOf(hash));
  auto looking = VolumeOf(row.request);
  CO_ASSIGN_OR_RETURN(const std::string volume, co_await std::move(looking));
  if (volume == row.generation) co_return absl::OkStatus();
  if (row.generation.empty()) {
    Bind(hash, volume);
    co_return absl::OkStatus();
  }
  auto ending = MarkDone(std::move(hash));
  CO_RETURN_IF_ERROR(co_await std::move(ending));
  co_return absl::OutOfRangeError("the files of its sandbox were removed");
}

void Uploads::Bind(const std::string& hash, const std::string& generation) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = uploads_.find(hash);
    if (found == uploads_.end() || !found->second.row.generation.empty()) return;
    found->second.row.generation = generation;
  }
  // Nobody waits for it: one that is forgotten in a fall is bound again by the next look.
  boost::asio::post(thread_, [this, hash, generation] {
    const absl::Status bound = table_.Bind(hash, generation);
    if (!bound.ok()) Log(Severity::kWarning, "uploads.not_bound", {{"why", bound}});
  });
}

// Those whose files were removed are nobody's any more, and take no place.
Async<void> Uploads::EndAbandoned(std::string principal) {
  for (const std::string& hash : OpenOnesOf(principal)) {
    auto checking = CheckVolume(hash);
    const absl::Status checked = co_await std::move(checking);
    if (absl::IsUnavailable(checked)) co_return checked;
  }
  co_return absl::OkStatus();
}

Async<mcp::UploadView> Uploads::Wait(std::string principal, std::string label, std::string name,
                                     std::chrono::steady_clock::time_point until) {
  for (;;) {
    const auto waiter = std::make_shared<Pending<bool>>();
    mcp::UploadView view;
    absl::Duration lifetime;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(uploads_.begin(), uploads_.end(), [&](const auto& entry) {
        const mcp::UploadRequest& request = entry.second.row.request;
        return NameOf(entry.first) == name && request.principal == principal &&
               request.label == label;
      });
      if (found == uploads_.end()) co_return NoSuchUpload();
      view = ViewOf(found->second);
      const bool arrived = !view.files.empty() && view.under_way == 0;
      if (view.over || arrived || std::chrono::steady_clock::now() >= until) co_return view;
      found->second.waiters.push_back(waiter);
      lifetime = found->second.row.expires - clock_.Now();
    }
    const auto expiry = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(lifetime) +
                        std::chrono::milliseconds(1);
    auto waiting = waiter->Take(false, {}, std::min(until, expiry));
    co_await std::move(waiting);
  }
}

absl::StatusOr<Uploads::Grant> Uploads::Find(std::string_view token) const {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(ToAbsl(token), &bytes) || bytes.size() != kTokenBytes) {
    return NoSuchUpload();
  }
  const std::string hash = Sha256(bytes);
  const std::lock_guard lock(mutex_);
  const auto found = uploads_.find(hash);
  if (found == uploads_.end()) return NoSuchUpload();
  const Upload& upload = found->second;
  if (IsOver(upload)) return absl::OutOfRangeError("this upload is over");
  return Grant{.hash = hash,
               .request = upload.row.request,
               .left_bytes = upload.row.request.max_bytes - UsedBytes(upload),
               .filled = !upload.row.request.folder && !upload.row.files.empty()};
}

std::optional<mcp::ArrivedFile> Uploads::ArrivedAs(const std::string& hash, const SentFile& sent,
                                                   bool goes_on) const {
  const std::lock_guard lock(mutex_);
  const auto upload = uploads_.find(hash);
  if (upload == uploads_.end() || (sent.id.empty() && !goes_on)) return std::nullopt;
  const UploadRow& row = upload->second.row;
  // What began again under this name is another file.
  const bool begun = std::any_of(row.parts.begin(), row.parts.end(),
                                 [&](const auto& part) { return part == sent; });
  if (sent.id.empty() && begun) return std::nullopt;
  const auto found = std::find_if(row.files.begin(), row.files.end(), [&](const auto& file) {
    return file.sent_as == sent.path && file.file.size == sent.size && file.sent_id == sent.id;
  });
  if (found == row.files.end()) return std::nullopt;
  return found->file;
}

absl::Status Uploads::Admit(const std::string& hash, const SentFile& sent, bool* is_new,
                            absl::Time* end) {
  const std::lock_guard lock(mutex_);
  const auto found = uploads_.find(hash);
  if (found == uploads_.end()) return NoSuchUpload();
  Upload& upload = found->second;
  if (upload.moving.contains(sent.path))
    return absl::AbortedError("this file is on its way already");
  if (StreamsOf(upload.row.request.principal) >= kMaxUploadStreamsEach) {
    return absl::FailedPreconditionError("too many files are on their way at once");
  }
  std::vector<SentFile>& parts = upload.row.parts;
  *is_new = std::find(parts.begin(), parts.end(), sent) == parts.end();
  if (*is_new && UsedBytes(upload) + sent.size > upload.row.request.max_bytes) {
    return absl::ResourceExhaustedError("more than this upload may have");
  }
  if (*is_new && parts.size() + upload.row.files.size() >= kMaxUploadFiles) {
    return absl::ResourceExhaustedError("too many files in one upload");
  }
  if (*is_new && NameBytes(upload) + sent.path.size() > kMaxUploadNameBytes) {
    return absl::ResourceExhaustedError("the names of one upload's files are too long together");
  }
  if (*is_new) parts.push_back(sent);
  upload.moving.insert(sent.path);
  *end = EndOf(upload);
  return absl::OkStatus();
}

Async<std::unique_ptr<Uploads::Transfer>> Uploads::Begin(std::string hash, SentFile sent) {
  bool is_new = false;
  absl::Time end;
  CO_RETURN_IF_ERROR(Admit(hash, sent, &is_new, &end));
  auto transfer = std::make_unique<Transfer>(*this, hash, sent.path, is_new, end);
  if (!is_new) co_return std::move(transfer);
  auto add = [this, hash, sent] { return table_.AddPart(hash, sent); };
  auto adding = RunOn(thread_.get_executor(), std::move(add));
  CO_RETURN_IF_ERROR(co_await std::move(adding));
  co_return std::move(transfer);
}

void Uploads::Stop(const std::string& hash, const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = uploads_.find(hash);
  if (found == uploads_.end()) return;
  found->second.moving.erase(path);
  Wake(found->second);
}

bool Uploads::IsForgotten(const UploadRow& row) const {
  return row.expires < clock_.Now() - kRemembered;
}

std::vector<Uploads::Leftover> Uploads::Leftovers() const {
  const std::lock_guard lock(mutex_);
  std::vector<const UploadRow*> over;
  for (const auto& [hash, upload] : uploads_) {
    if (IsOver(upload) && upload.moving.empty()) over.push_back(&upload.row);
  }
  std::sort(over.begin(), over.end(),
            [](const auto* a, const auto* b) { return a->expires > b->expires; });
  absl::flat_hash_map<std::string, std::size_t> newer;  // By principal.
  std::vector<Leftover> leftovers;
  for (const UploadRow* row : over) {
    const bool forget =
        newer[row->request.principal]++ >= kMaxUploadsRemembered || IsForgotten(*row);
    if (forget || !row->parts.empty()) leftovers.push_back({.row = *row, .forget = forget});
  }
  return leftovers;
}

Async<bool> Uploads::ClearPart(UploadRow row, SentFile part) {
  agent::v1::WriteFileHeader header = UploadHeader(row.hash, row.request, part);
  header.set_abandon(true);
  const auto sink = agent_.WriteFile(std::move(header));
  const absl::Status abandoned = (co_await sink->Finish()).status();
  if (absl::IsUnavailable(abandoned)) co_return abandoned;
  // What the sandbox itself has put in the way for as long as an upload is remembered stays its.
  const bool given_up = absl::IsInvalidArgument(abandoned) && IsForgotten(row);
  if (!abandoned.ok() && !absl::IsNotFound(abandoned) && !given_up) co_return false;
  auto drop = [this, hash = row.hash, part] { return table_.DropPart(hash, part); };
  auto dropping = RunOn(thread_.get_executor(), std::move(drop));
  CO_RETURN_IF_ERROR(co_await std::move(dropping));
  const std::lock_guard lock(mutex_);
  const auto found = uploads_.find(row.hash);
  if (found == uploads_.end()) co_return true;
  std::erase(found->second.row.parts, part);
  co_return true;
}

Async<void> Uploads::Clear(std::vector<Leftover> leftovers) {
  for (const auto& [row, forget] : leftovers) {
    bool all = true;
    for (const SentFile& part : row.parts) {
      auto clearing = ClearPart(row, part);
      CO_ASSIGN_OR_RETURN(const bool cleared, co_await std::move(clearing));
      all = all && cleared;
    }
    if (!all || !forget) continue;
    auto drop = [this, hash = row.hash] { return table_.Drop(hash); };
    auto dropping = RunOn(thread_.get_executor(), std::move(drop));
    CO_RETURN_IF_ERROR(co_await std::move(dropping));
    const std::lock_guard lock(mutex_);
    uploads_.erase(row.hash);
  }
  co_return absl::OkStatus();
}

Async<void> Uploads::Extend(std::string hash) {
  absl::Time expires = clock_.Now() + absl::FromChrono(kUploadLifetime);
  {
    const std::lock_guard lock(mutex_);
    const auto found = uploads_.find(hash);
    if (found == uploads_.end()) co_return NoSuchUpload();
    expires = std::min(expires, EndOf(found->second));
    found->second.row.expires = expires;
  }
  auto set = [this, hash, expires] { return table_.Extend(hash, expires); };
  co_return co_await RunOn(thread_.get_executor(), std::move(set));
}

Async<void> Uploads::Arrived(std::string hash, SentFile sent, mcp::ArrivedFile file) {
  const UploadedFile arrived{.file = std::move(file), .sent_as = sent.path, .sent_id = sent.id};
  auto add = [this, hash, arrived] { return table_.AddFile(hash, arrived); };
  auto adding = RunOn(thread_.get_executor(), std::move(add));
  CO_RETURN_IF_ERROR(co_await std::move(adding));
  const std::lock_guard lock(mutex_);
  const auto found = uploads_.find(hash);
  if (found == uploads_.end()) co_return NoSuchUpload();
  std::erase(found->second.row.parts, sent);
  found->second.row.files.push_back(arrived);
  co_return absl::OkStatus();
}

Async<void> Uploads::MarkDone(std::string hash) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = uploads_.find(hash);
    if (found == uploads_.end()) co_return NoSuchUpload();
    found->second.row.done = true;
    Wake(found->second);
  }
  auto end = [this, hash] { return table_.End(hash); };
  co_return co_await RunOn(thread_.get_executor(), std::move(end));
}

Async<void> Uploads::End(std::string hash) {
  auto ending = MarkDone(std::move(hash));
  CO_RETURN_IF_ERROR(co_await std::move(ending));
  co_await Sweep();
  co_return absl::OkStatus();
}

boost::asio::awaitable<void> Uploads::Sweep() {
  auto clearing = Clear(Leftovers());
  const absl::Status cleared = co_await std::move(clearing);
  if (!cleared.ok()) Log(Severity::kWarning, "uploads.not_cleared", {{"why", cleared}});
}

}  // namespace sandkeep
