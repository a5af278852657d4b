#include "gateway/downloads/handler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "common/counted.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/downloads/byte_range.h"
#include "gateway/downloads/pieces.h"
#include "gateway/downloads/presentation.h"
#include "gateway/downloads/refusal.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kPrefix = "/dl/";
// What a model or a chat client leaves at the end of a link that it copied.
constexpr std::string_view kTrailing = ").,";

// Asks for the rest of what this very file began as, in whatever form a range may have.
bool Resumes(const http::Request& request, const Validators& validators) {
  const std::string* condition = request.Find("if-range");
  return request.Find("range") != nullptr && condition != nullptr &&
         *condition == validators.etag();
}

void AddFields(http::Response* response, const Validators& validators) {
  response->headers.push_back({"ETag", validators.etag()});
  response->headers.push_back({"Last-Modified", validators.last_modified()});
  response->headers.push_back({"Accept-Ranges", "bytes"});
  response->headers.push_back({"Cache-Control", "private, no-cache"});
}

http::Response HeadOf(const Validators& validators, const Presentation& presentation) {
  http::Response response;
  response.headers.push_back({"Content-Type", presentation.content_type});
  response.headers.push_back({"Content-Disposition", presentation.content_disposition});
  AddFields(&response, validators);
  return response;
}

void MakePartial(http::Response* response, const ByteRange& range, std::int64_t size) {
  response->status = 206;
  response->headers.push_back(
      {"Content-Range", StrCat("bytes ", range.first, "-", range.last, "/", size)});
}

http::Response Unsatisfiable(std::int64_t size, const Validators& validators) {
  http::Response response =
      http::PageResponse(416, "No such part", "The file doesn't have the range asked for.");
  response.headers.push_back({"Content-Range", StrCat("bytes */", size)});
  AddFields(&response, validators);
  return response;
}

WantedFile FileOf(const LinkClaim& claim) {
  return {.key = claim.key.text(), .path = claim.path.bytes()};
}

// What may be answered without a byte of the file, and so is looked at before it is opened.
bool AsksOnlyWhether(const http::Request& request) {
  return request.method == "HEAD" || request.Find("if-none-match") != nullptr ||
         request.Find("if-modified-since") != nullptr;
}

// Never shown in a browser: a sandbox's program wrote it.
http::Response OutputHead(const LinkedOutput& job, std::string_view beginning) {
  const bool text = beginning.find('\0') == std::string_view::npos;
  http::Response response;
  response.headers.push_back(
      {"Content-Type", text ? "text/plain; charset=utf-8" : "application/octet-stream"});
  response.headers.push_back(
      {"Content-Disposition", StrCat("attachment; filename=\"", job.errors ? "stderr-" : "output-",
                                     job.id.hex(), text ? ".txt\"" : ".bin\"")});
  response.headers.push_back({"Cache-Control", "private, no-store"});
  return response;
}

}  // namespace

Async<KnownOwner> DownloadHandler::OwnerOf(SandboxKey key) {
  agent::v1::GetSandboxRequest request;
  request.mutable_sandbox()->set_key(key.text());
  CO_ASSIGN_OR_RETURN(const agent::v1::Sandbox sandbox, co_await agent_.GetSandbox(request));
  KnownOwner owner{.principal = sandbox.principal(), .generation = sandbox.generation()};
  owners_.Put(key.text(), owner);
  co_return owner;
}

// By what is known of its sandbox already, if that makes it a good one of a file.
std::optional<DownloadHandler::Target> DownloadHandler::JudgeAtOnce(const LinkClaim& claim) const {
  const std::optional<KnownOwner> known = owners_.Find(claim.key.text());
  if (!known.has_value() || !keys_.HasPrincipal(known->principal)) return std::nullopt;
  const LinkOwner owner{.principal = known->principal, .generation = known->generation};
  if (signer_.Judge(claim, owner) != LinkVerdict::kGood) return std::nullopt;
  return Target{.claim = claim, .owner = *known, .job = {}, .folder = {}};
}

Async<DownloadHandler::Target> DownloadHandler::Judge(LinkClaim claim) {
  std::optional<Target> at_once = JudgeAtOnce(claim);
  if (at_once.has_value()) co_return *std::move(at_once);
  auto asking = OwnerOf(claim.key);
  CO_ASSIGN_OR_RETURN(const KnownOwner known, co_await std::move(asking));
  if (!keys_.HasPrincipal(known.principal)) co_return WrongLink();
  const LinkOwner owner{.principal = known.principal, .generation = known.generation};
  std::optional<LinkedOutput> job;
  LinkVerdict verdict = signer_.Judge(claim, owner);
  if (verdict == LinkVerdict::kWrong && claim.job().has_value()) {
    job = claim.job();
    verdict = signer_.JudgeForJob(claim, owner);
  }
  std::optional<ArchivedFolder> folder;
  if (verdict == LinkVerdict::kWrong && claim.folder().has_value()) {
    folder = claim.folder();
    verdict = signer_.JudgeForFolder(claim, owner);
  }
  if (verdict == LinkVerdict::kWrong) co_return WrongLink();
  const bool expired = verdict == LinkVerdict::kExpired;
  const bool is_file = !job.has_value() && !folder.has_value();
  if (expired && (!is_file || !signer_.MayBeResumed(claim))) co_return ExpiredLink();
  co_return Target{.claim = std::move(claim),
                   .owner = known,
                   .job = std::move(job),
                   .folder = std::move(folder),
                   .expired = expired};
}

Async<DownloadHandler::Target> DownloadHandler::Verify(std::string path) {
  std::string_view rest = std::string_view(path).substr(kPrefix.size());
  std::optional<LinkClaim> claim = LinkClaim::Parse(rest);
  absl::StatusOr<Target> judged = WrongLink();
  if (claim.has_value()) judged = co_await Judge(*claim);
  const bool worth_another = absl::IsNotFound(judged.status()) && !rest.empty() &&
                             kTrailing.find(rest.back()) != std::string_view::npos;
  if (!worth_another) co_return judged;
  rest.remove_suffix(1);
  claim = LinkClaim::Parse(rest);
  if (!claim.has_value()) co_return judged;
  co_return co_await Judge(*claim);
}

asio::awaitable<void> DownloadHandler::Handle(http::Exchange& exchange) {
  const Counted counted(running_);
  exchange.SetPatience(kWriteDeadline);
  if (counted.rank() > kMaxDownloads) {
    http::Response busy = RefusalPage(BusyWithLinks());
    co_await exchange.Send(std::move(busy));
    co_return;
  }
  absl::StatusOr<Target> target = co_await Verify(exchange.request().path);
  if (!target.ok()) {
    http::Response page = RefusalPage(target.status());
    co_await exchange.Send(std::move(page));
    co_return;
  }
  if (target->job.has_value()) {
    co_await SendOutput(exchange, target->claim.key, *target->job);
    co_return;
  }
  if (target->folder.has_value()) {
    LinkedFolder linked{.claim = std::move(target->claim),
                        .folder = *std::move(target->folder),
                        .owner = std::move(target->owner)};
    co_await folders_.Answer(exchange, std::move(linked));
    co_return;
  }
  co_await Answer(exchange, *std::move(target));
}

// What the job has printed by now, as it is. Not a file: it has no length that could be told
// before, since it may go on and parts of it may be dropped, and so no ranges.
asio::awaitable<void> DownloadHandler::SendOutput(http::Exchange& exchange, SandboxKey key,
                                                  LinkedOutput job) {
  agent::v1::ReadOutputRequest read;
  read.mutable_sandbox()->set_key(key.text());
  read.set_job_id(job.id.bytes());
  if (job.errors) read.set_stream(agent::v1::STDERR);
  read.set_limit(kMaxReadOutputBytes);
  absl::StatusOr<agent::v1::ReadOutputResponse> part = co_await agent_.ReadOutput(read);
  if (!part.ok()) {
    http::Response page = RefusalPage(part.status());
    co_await exchange.Send(std::move(page));
    co_return;
  }
  const std::int64_t end = part->job().output_bytes();
  http::Response head = OutputHead(job, part->data());
  bool going = co_await exchange.Begin(std::move(head), std::nullopt);
  if (exchange.request().method == "HEAD") co_return;
  while (going && part.ok()) {
    const std::int64_t next = part->offset() + static_cast<std::int64_t>(part->data().size());
    going = co_await WriteInPieces(exchange, part->data());
    if (!going || part->data().empty() || next >= end) break;
    read.set_offset(next);
    part = co_await agent_.ReadOutput(read);
  }
  // Cut off, so that nobody takes a part for the whole.
  if (!part.ok()) Log(Severity::kWarning, "download.output_cut", {{"job", job.id.hex()}});
  if (going && part.ok()) co_await exchange.End();
}

Validators DownloadHandler::ValidatorsOf(const LinkClaim& claim,
                                         const agent::v1::FileInfo& info) const {
  return Validators(signer_.Stamped(claim, info.etag()), info.modified_ms());
}

// What the request gets of a file that is so. `page` instead of the file, if there is one.
DownloadHandler::Plan DownloadHandler::PlanFor(const http::Request& request, const Target& target,
                                               const absl::StatusOr<agent::v1::FileInfo>& info) {
  const LinkClaim& claim = target.claim;
  absl::Status found = info.status();
  if (info.ok() && info->type() != agent::v1::FileInfo::REGULAR) found = WrongLink();
  if (info.ok() && info->generation() != target.owner.generation) {
    found = AnotherVolume(claim.key, *info);
  }
  // What an expired link says doesn't depend on whether its file is still there.
  const bool resumes = found.ok() && target.expired && Resumes(request, ValidatorsOf(claim, *info));
  if (target.expired && !resumes) found = ExpiredLink();
  if (!found.ok()) return {.page = RefusalPage(found)};
  const Validators validators = ValidatorsOf(claim, *info);
  if (validators.ClientHasIt(request)) {
    http::Response unchanged{.status = 304, .headers = {}, .body = ""};
    AddFields(&unchanged, validators);
    return {.page = std::move(unchanged)};
  }
  const std::string* header = request.Find("range");
  ByteRange range;
  if (header != nullptr && validators.RangeStands(request)) {
    range = ByteRange::Parse(*header, info->size());
  }
  if (range.kind == ByteRange::Kind::kUnsatisfiable) {
    return {.page = Unsatisfiable(info->size(), validators)};
  }
  Plan plan{.head = HeadOf(validators, PresentAs(claim.path.Name(), types_.Of(claim.path.Name()))),
            .length = info->size()};
  if (range.kind != ByteRange::Kind::kPart) return plan;
  MakePartial(&plan.head, range, info->size());
  plan.offset = range.first;
  plan.length = range.length();
  return plan;
}

// The label was forgotten and used again, or its files were removed: the link was for others.
absl::Status DownloadHandler::AnotherVolume(const SandboxKey& key,
                                            const agent::v1::FileInfo& info) {
  const std::optional<KnownOwner> known = owners_.Find(key.text());
  if (known.has_value()) {
    owners_.Put(key.text(), {.principal = known->principal, .generation = info.generation()});
  }
  return WrongLink();
}

// False: the answer was given.
asio::awaitable<bool> DownloadHandler::GoesOn(http::Exchange& exchange, Plan& plan) {
  const bool head = exchange.request().method == "HEAD";
  if (plan.page.has_value()) {
    co_await exchange.Send(*std::move(plan.page));
  } else if (head || plan.length == 0) {
    const bool begun = co_await exchange.Begin(std::move(plan.head), plan.length);
    if (begun && !head) co_await exchange.End();
  } else {
    co_return true;
  }
  co_return false;
}

asio::awaitable<void> DownloadHandler::Answer(http::Exchange& exchange, Target target) {
  const WantedFile wanted = FileOf(target.claim);
  if (target.expired || AsksOnlyWhether(exchange.request())) {
    auto looking = sources_.Stat(wanted);
    const absl::StatusOr<agent::v1::FileInfo> info = co_await std::move(looking);
    Plan plan = PlanFor(exchange.request(), target, info);
    const bool goes_on = co_await GoesOn(exchange, plan);
    if (!goes_on) co_return;
  }
  auto opening = sources_.Open(exchange, wanted);
  const absl::StatusOr<std::unique_ptr<FileSource>> source = co_await std::move(opening);
  Plan plan = source.ok() ? PlanFor(exchange.request(), target, (*source)->info())
                          : PlanFor(exchange.request(), target, source.status());
  const bool goes_on = co_await GoesOn(exchange, plan);
  if (!goes_on) co_return;
  auto sending = (*source)->Send(exchange, std::move(plan.head), plan.offset, plan.length);
  const absl::Status sent = co_await std::move(sending);
  if (sent.ok()) co_return;
  http::Response page = RefusalPage(sent);
  co_await exchange.Send(std::move(page));
}

}  // namespace sandkeep
