#include "gateway/uploads/uploads.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/digest.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/pending.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::size_t kTokenBytes = 16;
constexpr std::size_t kPartIdBytes = 16;

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
    : agent_(agent),
      random_(random),
      clock_(clock),
      book_(std::move(rows), clock),
      table_(std::move(table)) {}

Uploads::~Uploads() { thread_.join(); }

Async<mcp::OpenedUpload> Uploads::Open(mcp::UploadRequest request) {
  const std::string token = random_.Bytes(kTokenBytes);
  UploadRow row;
  row.hash = Sha256(token);
  row.request = std::move(request);
  auto looking = VolumeOf(row.request);
  CO_ASSIGN_OR_RETURN(row.generation, co_await std::move(looking));
  if (book_.OpenOnesOf(row.request.principal).size() >= kMaxUploadsEach) {
    auto ending = EndAbandoned(row.request.principal);
    CO_RETURN_IF_ERROR(co_await std::move(ending));
  }
  row.opened = clock_.Now();
  row.expires = row.opened + absl::FromChrono(kUploadLifetime);
  CO_RETURN_IF_ERROR(book_.Add(row));
  auto add = [this, row] { return table_.Add(row); };
  auto adding = RunOn(thread_.get_executor(), std::move(add));
  CO_RETURN_IF_ERROR(co_await std::move(adding));
  co_return mcp::OpenedUpload{.name = UploadName(row.hash),
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

Async<void> Uploads::CheckVolume(std::string hash) {
  CO_ASSIGN_OR_RETURN(const UploadRow row, book_.RowOf(hash));
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
  if (!book_.Bind(hash, generation)) return;
  // Nobody waits for it: one that is forgotten in a fall is bound again by the next look.
  boost::asio::post(thread_, [this, hash, generation] {
    const absl::Status bound = table_.Bind(hash, generation);
    if (!bound.ok()) Log(Severity::kWarning, "uploads.not_bound", {{"why", bound}});
  });
}

// Those whose files were removed are nobody's any more, and take no place.
Async<void> Uploads::EndAbandoned(std::string principal) {
  for (const std::string& hash : book_.OpenOnesOf(principal)) {
    auto checking = CheckVolume(hash);
    const absl::Status checked = co_await std::move(checking);
    if (absl::IsUnavailable(checked)) co_return checked;
  }
  co_return absl::OkStatus();
}

Async<mcp::UploadView> Uploads::Wait(std::string principal, std::string label, std::string name,
                                     std::chrono::steady_clock::time_point until) {
  for (;;) {
    const bool enough = std::chrono::steady_clock::now() >= until;
    CO_ASSIGN_OR_RETURN(UploadWait wait, book_.WaitFor(principal, label, name, enough));
    if (wait.waiter == nullptr) co_return std::move(wait.view);
    const auto expiry = std::chrono::steady_clock::now() +
                        absl::ToChronoMilliseconds(wait.lifetime) + std::chrono::milliseconds(1);
    auto waiting = wait.waiter->Take(false, {}, std::min(until, expiry));
    co_await std::move(waiting);
  }
}

absl::StatusOr<UploadGrant> Uploads::Find(std::string_view token) const {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(ToAbsl(token), &bytes) || bytes.size() != kTokenBytes) {
    return absl::NotFoundError("no such upload");
  }
  return book_.Find(Sha256(bytes));
}

std::optional<mcp::ArrivedFile> Uploads::ArrivedAs(const std::string& hash, const SentFile& sent,
                                                   bool goes_on) const {
  return book_.ArrivedAs(hash, sent, goes_on);
}

Async<std::unique_ptr<Uploads::Transfer>> Uploads::Begin(std::string hash, SentFile sent) {
  CO_ASSIGN_OR_RETURN(const UploadAdmission admission, book_.Admit(hash, sent));
  auto transfer = std::make_unique<Transfer>(*this, hash, sent.path, admission);
  if (!admission.is_new) co_return std::move(transfer);
  auto add = [this, hash, sent] { return table_.AddPart(hash, sent); };
  auto adding = RunOn(thread_.get_executor(), std::move(add));
  CO_RETURN_IF_ERROR(co_await std::move(adding));
  co_return std::move(transfer);
}

Async<bool> Uploads::ClearPart(UploadRow row, SentFile part) {
  agent::v1::WriteFileHeader header = UploadHeader(row.hash, row.request, part);
  header.set_abandon(true);
  const auto sink = agent_.WriteFile(std::move(header));
  const absl::Status abandoned = (co_await sink->Finish()).status();
  if (absl::IsUnavailable(abandoned)) co_return abandoned;
  // What the sandbox itself has put in the way for as long as an upload is remembered stays its.
  const bool given_up = absl::IsInvalidArgument(abandoned) && book_.IsForgotten(row);
  if (!abandoned.ok() && !absl::IsNotFound(abandoned) && !given_up) co_return false;
  auto drop = [this, hash = row.hash, part] { return table_.DropPart(hash, part); };
  auto dropping = RunOn(thread_.get_executor(), std::move(drop));
  CO_RETURN_IF_ERROR(co_await std::move(dropping));
  book_.DropPart(row.hash, part);
  co_return true;
}

Async<void> Uploads::Clear(std::vector<UploadLeftover> leftovers) {
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
    book_.Forget(row.hash);
  }
  co_return absl::OkStatus();
}

Async<void> Uploads::Extend(std::string hash) {
  CO_ASSIGN_OR_RETURN(const absl::Time expires, book_.Extend(hash));
  auto set = [this, hash, expires] { return table_.Extend(hash, expires); };
  co_return co_await RunOn(thread_.get_executor(), std::move(set));
}

Async<void> Uploads::Arrived(std::string hash, SentFile sent, mcp::ArrivedFile file) {
  const UploadedFile arrived{.file = std::move(file), .sent_as = sent.path, .sent_id = sent.id};
  auto add = [this, hash, arrived] { return table_.AddFile(hash, arrived); };
  auto adding = RunOn(thread_.get_executor(), std::move(add));
  CO_RETURN_IF_ERROR(co_await std::move(adding));
  co_return book_.AddFile(hash, sent, arrived);
}

Async<void> Uploads::MarkDone(std::string hash) {
  CO_RETURN_IF_ERROR(book_.End(hash));
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
  auto clearing = Clear(book_.Leftovers());
  const absl::Status cleared = co_await std::move(clearing);
  if (!cleared.ok()) Log(Severity::kWarning, "uploads.not_cleared", {{"why", cleared}});
}

}  // namespace sandkeep
