#include "gateway/uploads/handler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "common/counted.h"
#include "common/limits.h"
#include "common/part_name.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/downloads/percent.h"
#include "gateway/pages/upload.h"
#include "gateway/uploads/pace.h"

namespace sandkeep {
namespace {

namespace asio = boost::asio;
namespace v1 = agent::v1;

constexpr std::string_view kPrefix = "/up/";
// What is handed on at once: gRPC's own cost for each is then small.
constexpr std::size_t kHandOnBytes = kMaxFileChunk - kHttpPieceBytes;
// `report (2).pdf` to `report (100).pdf`.
constexpr int kFreeNames = 100;
// 128 bits in hexadecimal, and any UUID without its dashes.
constexpr std::size_t kMaxIdChars = 32;

http::Response Json(int status, std::string body) {
  return http::TextResponse(status, "application/json", std::move(body));
}

http::Response Received(int status, std::int64_t bytes, bool whole) {
  http::Response response =
      Json(status, StrCat("{\"received\":", bytes, ",\"whole\":", whole ? "true" : "false", "}\n"));
  response.headers.push_back({"Upload-Offset", StrCat(bytes)});
  response.headers.push_back({"Upload-Complete", whole ? "?1" : "?0"});
  return response;
}

// No status: nobody is there to be answered.
http::Response NoAnswer() { return {.status = 0, .headers = {}, .body = ""}; }

bool IsId(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdChars &&
         std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isalnum(c); });
}

http::Response Told(const absl::Status& status) {
  const std::string_view text = ToStd(status.message());
  switch (status.code()) {
    case absl::StatusCode::kOutOfRange:
      return http::ErrorResponse(410, "over", text);
    case absl::StatusCode::kNotFound:
      return http::ErrorResponse(404, "not_found", "there is no such upload");
    case absl::StatusCode::kInvalidArgument:
      return http::ErrorResponse(400, "invalid_request", text);
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
      return http::ErrorResponse(409, "conflict", text);
    case absl::StatusCode::kResourceExhausted:
      return http::ErrorResponse(413, "too_large", text);
    case absl::StatusCode::kFailedPrecondition:
      return http::ErrorResponse(429, "busy", text);
    default:
      return http::ErrorResponse(503, "unavailable", "the sandbox can't be reached; try again");
  }
}

http::Response PageOfError(const absl::Status& status) {
  if (absl::IsOutOfRange(status)) {
    return http::PageResponse(410, "This upload is over",
                              "Ask in the chat for another page if you have more files.");
  }
  if (absl::IsNotFound(status)) {
    return http::PageResponse(404, "Nothing here", "This address is wrong.");
  }
  return http::PageResponse(503, "Not available now",
                            "The sandboxes can't be reached at the moment. Try again soon.");
}

std::optional<std::int64_t> NumberIn(const http::Request& request, std::string_view header) {
  const std::string* text = request.Find(header);
  std::int64_t number = 0;
  if (text == nullptr || !absl::SimpleAtoi(*text, &number) || number < 0) return std::nullopt;
  return number;
}

// `name (2).ending`
std::string Numbered(const std::string& path, int number) {
  const std::size_t slash = path.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  std::size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot <= begin) dot = path.size();
  return StrCat(std::string_view(path).substr(0, dot), " (", number, ")",
                std::string_view(path).substr(dot));
}

}  // namespace

asio::awaitable<void> UploadHandler::Handle(http::Exchange& exchange) {
  exchange.SetPatience(kWriteDeadline);
  const Counted counted(streams_);
  if (counted.rank() > kMaxUploadStreams) {
    http::Response busy = Told(absl::UnavailableError("busy"));
    busy.headers.push_back({"Retry-After", "5"});
    co_await exchange.Send(std::move(busy));
    co_return;
  }
  http::Response response = co_await Answer(exchange);
  if (response.status == 429) response.headers.push_back({"Retry-After", "5"});
  if (response.status != 0) co_await exchange.Send(std::move(response));
}

asio::awaitable<http::Response> UploadHandler::Answer(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  std::string_view rest = std::string_view(request.path).substr(kPrefix.size());
  const std::size_t slash = rest.find('/');
  const std::string_view token = rest.substr(0, slash);
  const std::string_view encoded =
      slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  absl::StatusOr<UploadGrant> grant = uploads_.Find(token);
  if (grant.ok() && !keys_.HasPrincipal(grant->request.principal)) {
    grant = absl::NotFoundError("its principal was removed");
  }
  if (grant.ok()) {
    auto checking = uploads_.CheckVolume(grant->hash);
    const absl::Status checked = co_await std::move(checking);
    if (!checked.ok()) grant = checked;
  }
  if (encoded.empty() && request.method == "GET") {
    if (grant.ok() && grant->filled) grant = absl::OutOfRangeError("its file is there");
    if (!grant.ok()) co_return PageOfError(grant.status());
    http::Response page = http::TextResponse(
        200, "text/html; charset=utf-8",
        UploadPage({.folder = grant->request.folder, .left_bytes = grant->left_bytes}));
    page.headers.push_back({"Content-Security-Policy", UploadPagePolicy()});
    co_return page;
  }
  if (!grant.ok()) co_return Told(grant.status());
  if (encoded.empty() && request.method == "POST") {
    const absl::Status ended = co_await uploads_.End(grant->hash);
    co_return ended.ok() ? Json(200, "{}\n") : Told(ended);
  }
  const std::optional<std::string> name = PercentDecode(encoded);
  if (!name.has_value() || encoded.empty()) {
    co_return http::ErrorResponse(400, "invalid_request", "name the file in the address");
  }
  const bool takes = request.method == "PUT";
  if (!takes && request.method != "HEAD") {
    co_return http::ErrorResponse(405, "invalid_request", "PUT, HEAD");
  }
  std::optional<ContentRange> range;
  if (const std::string* header = request.Find("content-range"); header != nullptr && takes) {
    range = ContentRange::Parse(*header);
    if (!range.has_value()) {
      co_return http::ErrorResponse(400, "invalid_request",
                                    "Content-Range must be `bytes FIRST-LAST/TOTAL`");
    }
  }
  const std::optional<std::int64_t> length =
      NumberIn(request, takes ? "content-length" : "upload-length");
  if (!length.has_value()) {
    co_return http::ErrorResponse(411, "invalid_request", "the length must stand in front");
  }
  if (range.has_value() && (range->length != *length || range->length > kMaxUploadPieceBytes)) {
    co_return http::ErrorResponse(
        413, "invalid_request",
        StrCat("a piece has at most ", kMaxUploadPieceBytes, " bytes, all that are announced"));
  }
  absl::StatusOr<Item> item =
      ItemOf(*std::move(grant), *name, range.has_value() ? range->total : *length,
             request.Find("upload-id"));
  if (!item.ok()) co_return Told(item.status());
  if (!takes) co_return co_await Status(*std::move(item));
  co_return co_await Take(exchange, *std::move(item), range);
}

absl::StatusOr<UploadHandler::Item> UploadHandler::ItemOf(UploadGrant grant,
                                                          const std::string& name,
                                                          std::int64_t size,
                                                          const std::string* id) {
  if (size > kMaxUploadBytes) return absl::ResourceExhaustedError("the file is too large");
  if (id != nullptr && !IsId(*id)) {
    return absl::InvalidArgumentError(
        StrCat("Upload-Id is letters and digits, at most ", kMaxIdChars));
  }
  ASSIGN_OR_RETURN(RelPath path, RelPath::Parse(name));
  if (path.empty()) return absl::InvalidArgumentError("name the file in the address");
  const std::string& place = grant.request.path;
  // Where one file is asked for, that is where it goes, whatever its own name.
  const std::string full =
      grant.request.folder ? StrCat(place, place.empty() ? "" : "/", path.bytes()) : place;
  ASSIGN_OR_RETURN(path, RelPath::Parse(full));
  SentFile sent{.path = path.bytes(), .size = size, .id = id == nullptr ? "" : *id};
  return Item{.grant = std::move(grant), .sent = std::move(sent)};
}

v1::WriteFileHeader UploadHandler::HeaderOf(const Item& item, std::int64_t offset) {
  v1::WriteFileHeader header = UploadHeader(item.grant.hash, item.grant.request, item.sent);
  header.set_offset(offset);
  // Many files at once must not end each other; the one that was asked for takes its place.
  if (item.grant.request.folder) header.set_if_etag("-");
  return header;
}

Async<UploadHandler::Found> UploadHandler::Look(const Item& item) {
  const v1::WriteFileHeader header = HeaderOf(item, 0);
  const std::string path = PartPath(header.path(), header.upload());
  v1::StatFileRequest look;
  *look.mutable_sandbox() = header.sandbox();
  look.set_path(path);
  const absl::StatusOr<v1::FileInfo> part = co_await agent_.StatFile(std::move(look));
  if (absl::IsNotFound(part.status())) co_return Found{};
  CO_RETURN_IF_ERROR(part.status());
  Found found{.received = part->size()};
  if (part->path() == path) co_return found;
  found.placed = mcp::ArrivedFile{.path = part->path(), .size = item.sent.size};
  CO_RETURN_IF_ERROR(co_await uploads_.Arrived(item.grant.hash, item.sent, *found.placed));
  co_return found;
}

asio::awaitable<http::Response> UploadHandler::Status(Item item) {
  const bool arrived = uploads_.ArrivedAs(item.grant.hash, item.sent, false).has_value();
  if (arrived) co_return Received(200, item.sent.size, true);
  auto looking = Look(item);
  const absl::StatusOr<Found> found = co_await std::move(looking);
  if (!found.ok()) co_return Told(found.status());
  if (found->placed.has_value()) co_return Received(200, item.sent.size, true);
  // Of one that is all there only the end is missing, which a PUT alone makes: the last byte is
  // asked for once more.
  const std::int64_t most = std::max<std::int64_t>(item.sent.size - 1, 0);
  co_return Received(200, std::clamp<std::int64_t>(found->received, 0, most), false);
}

asio::awaitable<http::Response> UploadHandler::Take(http::Exchange& exchange, Item item,
                                                    std::optional<ContentRange> range) {
  const std::int64_t first = range.has_value() ? range->first : 0;
  const std::optional<mcp::ArrivedFile> before =
      uploads_.ArrivedAs(item.grant.hash, item.sent, first > 0);
  if (before.has_value()) co_return co_await Drain(exchange, *before);
  if (item.grant.filled) {
    co_return Told(absl::OutOfRangeError("one file was asked for, and it has arrived"));
  }
  auto beginning = uploads_.Begin(item.grant.hash, item.sent);
  const auto transfer = co_await std::move(beginning);
  if (!transfer.ok()) co_return Told(transfer.status());
  if (!(*transfer)->is_new() && (first > 0 || !item.sent.id.empty())) {
    // It may have taken its place without our having heard, or noted, it.
    auto looking = Look(item);
    const absl::StatusOr<Found> found = co_await std::move(looking);
    if (!found.ok()) co_return Told(found.status());
    if (found->placed.has_value()) co_return co_await Drain(exchange, *found->placed);
  }
  v1::WriteFileHeader header = HeaderOf(item, first);
  if (!range.has_value()) {
    // A whole file begins anew, whatever an earlier try left.
    v1::WriteFileHeader anew = header;
    anew.set_abandon(true);
    const auto forget = agent_.WriteFile(std::move(anew));
    (co_await forget->Finish()).IgnoreError();
  }
  auto passing = Pass(exchange, header, **transfer);
  std::optional<absl::StatusOr<v1::WriteFileResponse>> passed = co_await std::move(passing);
  if (!passed.has_value()) co_return NoAnswer();
  absl::StatusOr<v1::WriteFileResponse> written = *std::move(passed);
  if (written.ok() && !written->has_info() && written->received() == item.sent.size) {
    // All of its bytes came in an earlier try, whose end was lost.
    header.set_offset(item.sent.size);
    const auto ending = agent_.WriteFile(header);
    written = co_await ending->Finish();
  }
  if (absl::IsAlreadyExists(written.status())) written = co_await TakeFreeName(std::move(header));
  if (!written.ok()) co_return Told(written.status());
  if (written->has_info()) {
    mcp::ArrivedFile file{.path = written->info().path(), .size = item.sent.size};
    uploads_.Bind(item.grant.hash, written->info().generation());
    const absl::Status told =
        co_await uploads_.Arrived(item.grant.hash, item.sent, std::move(file));
    if (!told.ok()) co_return Told(told);
    co_return Received(201, item.sent.size, true);
  }
  const std::int64_t expected = first + (range.has_value() ? range->length : item.sent.size);
  if (written->received() != expected) co_return Received(409, written->received(), false);
  const absl::Status extended = co_await uploads_.Extend(item.grant.hash);
  co_return extended.ok() ? Received(200, expected, false) : Told(extended);
}

asio::awaitable<std::optional<absl::StatusOr<v1::WriteFileResponse>>> UploadHandler::Pass(
    http::Exchange& exchange, v1::WriteFileHeader header, const Uploads::Transfer& transfer) {
  const std::unique_ptr<FileSink> sink = agent_.WriteFile(std::move(header));
  std::string held;
  Pace pace(patience_);
  for (;;) {
    const auto asked = std::chrono::steady_clock::now();
    auto reading = exchange.ReadPart();
    const std::optional<std::string> part = co_await std::move(reading);
    if (!part.has_value() || !transfer.MayGoOn()) co_return std::nullopt;
    if (!pace.Keeps(std::chrono::steady_clock::now() - asked, part->size())) co_return std::nullopt;
    held += *part;
    if (!part->empty() && held.size() < kHandOnBytes) continue;
    std::string data = std::exchange(held, std::string());
    auto writing = sink->Write(std::move(data));
    const bool taken = co_await std::move(writing);
    if (!taken || part->empty()) break;
  }
  absl::StatusOr<v1::WriteFileResponse> done = co_await sink->Finish();
  co_return std::optional<absl::StatusOr<v1::WriteFileResponse>>(std::move(done));
}

asio::awaitable<http::Response> UploadHandler::Drain(http::Exchange& exchange,
                                                     mcp::ArrivedFile file) {
  Pace pace(patience_);
  for (;;) {
    const auto asked = std::chrono::steady_clock::now();
    auto reading = exchange.ReadPart();
    const std::optional<std::string> part = co_await std::move(reading);
    if (!part.has_value()) co_return NoAnswer();
    if (part->empty()) co_return Received(201, file.size, true);
    if (!pace.Keeps(std::chrono::steady_clock::now() - asked, part->size())) co_return NoAnswer();
  }
}

Async<v1::WriteFileResponse> UploadHandler::TakeFreeName(v1::WriteFileHeader header) {
  const std::string path = header.path();
  // All of its bytes are there.
  header.set_offset(header.size());
  for (int number = 2; number <= kFreeNames; ++number) {
    header.set_path(Numbered(path, number));
    const auto sink = agent_.WriteFile(header);
    absl::StatusOr<v1::WriteFileResponse> written = co_await sink->Finish();
    if (!absl::IsAlreadyExists(written.status())) co_return written;
  }
  co_return absl::AlreadyExistsError("there are too many files of this name");
}

}  // namespace sandkeep
