#include "gateway/downloads/folder_answers.h"

#include <optional>
#include <utility>

#include "common/counted.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/downloads/accept.h"
#include "gateway/downloads/archive_room.h"
#include "gateway/downloads/folder_archive.h"
#include "gateway/downloads/folder_listing.h"
#include "gateway/downloads/presentation.h"
#include "gateway/downloads/refusal.h"
#include "gateway/pages/folder.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
namespace v1 = agent::v1;

// Chat clients add parameters of their own to addresses.
bool NamesArchive(const http::Request& request) {
  const std::size_t query = request.target.find('?');
  if (query == std::string::npos) return false;
  for (const std::string_view part :
       Split(std::string_view(request.target).substr(query + 1), '&')) {
    if (part.substr(0, part.find('=')) == kAsArchive) return true;
  }
  return false;
}

bool WantsPage(const http::Request& request) {
  const std::string* accept = request.Find("accept");
  return accept != nullptr && PrefersPage(*accept) && !NamesArchive(request);
}

// Nobody between us and the client may take one for the other.
void AddFields(http::Response* response) {
  response->headers.push_back({"Cache-Control", "private, no-store"});
  response->headers.push_back({"Vary", "Accept"});
}

}  // namespace

asio::awaitable<void> FolderAnswers::Answer(http::Exchange& exchange, LinkedFolder linked) {
  if (WantsPage(exchange.request())) {
    co_await SendPage(exchange, std::move(linked));
  } else {
    co_await SendArchive(exchange, std::move(linked));
  }
}

Async<void> FolderAnswers::Check(const LinkedFolder& linked) {
  v1::StatFileRequest stat;
  stat.mutable_sandbox()->set_key(linked.claim.key.text());
  stat.set_path(linked.folder.path);
  CO_ASSIGN_OR_RETURN(const v1::FileInfo info, co_await agent_.StatFile(stat));
  const bool same =
      info.type() == v1::FileInfo::DIRECTORY && info.generation() == linked.owner.generation;
  co_return same ? absl::OkStatus() : WrongLink();
}

// Made while it is sent: it has no length that could be told before, and no ranges.
asio::awaitable<void> FolderAnswers::SendArchive(http::Exchange& exchange, LinkedFolder linked) {
  const Counted counted(archives_);
  absl::Status found = co_await Check(linked);
  if (found.ok() && counted.rank() > kMaxArchives) found = BusyWithLinks();
  // Who asks for no byte of it isn't worth a search.
  const bool asks_only_whether = exchange.request().method == "HEAD";
  bool fits = asks_only_whether;
  if (found.ok() && !asks_only_whether) {
    v1::SandboxRef sandbox;
    sandbox.set_key(linked.claim.key.text());
    const auto looked = co_await CanBeArchived(agent_, std::move(sandbox), linked.folder.path);
    found = looked.status();
    fits = looked.value_or(false);
  }
  if (!found.ok() || !fits) {
    http::Response page = found.ok() ? NoArchivePage() : RefusalPage(found);
    co_await exchange.Send(std::move(page));
    co_return;
  }
  const bool tar = linked.folder.format == mcp::ArchiveFormat::kTar;
  std::string name(linked.claim.path.Name());
  if (linked.folder.path.empty()) name = StrCat("workspace", name);
  http::Response head;
  head.headers.push_back({"Content-Type", tar ? "application/x-tar" : "application/zip"});
  head.headers.push_back({"Content-Disposition", ContentDisposition("attachment", name)});
  AddFields(&head);
  const bool begun = co_await exchange.Begin(std::move(head), std::nullopt);
  if (!begun || asks_only_whether) co_return;
  FolderArchive archive(agent_, exchange, packers_, linked);
  bool whole = co_await archive.SendEntries();
  // What is gone is left out: unless it is the sandbox.
  if (whole) whole = (co_await Check(linked)).ok();
  if (whole) whole = co_await archive.Finish();
  if (whole) co_await exchange.End();
}

asio::awaitable<void> FolderAnswers::SendPage(http::Exchange& exchange, LinkedFolder linked) {
  auto making = MakePage(exchange.request().public_base, std::move(linked));
  absl::StatusOr<std::string> page = co_await std::move(making);
  http::Response response;
  if (page.ok()) {
    response = http::TextResponse(200, "text/html; charset=utf-8", *std::move(page));
    response.headers.push_back({"Content-Security-Policy", FolderPagePolicy()});
    AddFields(&response);
  } else {
    response = RefusalPage(page.status());
  }
  co_await exchange.Send(std::move(response));
}

Async<std::string> FolderAnswers::MakePage(std::string public_base, LinkedFolder linked) {
  const Counted counted(pages_);
  if (counted.rank() > kMaxArchives) co_return BusyWithLinks();
  const LinkOwner owner{.principal = linked.owner.principal, .generation = linked.owner.generation};
  const std::optional<PageLinks> links = signer_.LinksBelow(public_base, linked.claim, owner);
  if (!links.has_value()) co_return WrongLink();
  FolderListing listing;
  v1::ListFilesRequest request;
  request.mutable_sandbox()->set_key(linked.claim.key.text());
  request.set_path(linked.folder.path);
  request.set_limit(kMaxListedFiles);
  absl::Status failed;
  for (bool more = true; more;) {
    absl::StatusOr<v1::ListFilesResponse> listed = co_await agent_.ListFiles(request);
    failed = listed.status();
    if (!listed.ok()) break;
    const int count = listed->files_size();
    if (count > 0) request.set_after(listed->files(count - 1).path());
    for (v1::FileInfo& info : *listed->mutable_files()) listing.Add(std::move(info));
    more = listed->truncated() && count > 0 && !listing.IsEndless();
    if (listed->truncated() && !more) listing.IsNotAll();
  }
  // Afterwards, so that what was listed is of that volume.
  CO_RETURN_IF_ERROR(co_await Check(linked));
  CO_RETURN_IF_ERROR(failed);
  co_return FolderPage(std::move(listing).View(linked.folder.path, linked.folder.format, *links));
}

}  // namespace sandkeep
