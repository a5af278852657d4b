#include "gateway/http/request_parser.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep::http {
namespace {

namespace beast = boost::beast;
using ErrorCode = beast::error_code;
using Refusal = RequestParser::Refusal;

constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";
constexpr std::string_view kLineEnd = "\r\n";

// Read by us or by what we call to decide something: two of them would be two readings.
constexpr std::array<std::string_view, 14> kOnce = {
    "host",         "content-length", "transfer-encoding",    "authorization", "origin",
    "content-type", "expect",         "mcp-protocol-version", "mcp-method",    "mcp-name",
    "range",        "if-range",       "mcp-session-id",       "upgrade"};

bool IsLength(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLengthDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

Refusal RefusalOf(const ErrorCode& error) {
  if (error == beast::http::error::body_limit) return {413, "the body is too large"};
  if (error == beast::http::error::header_limit) return {431, "the headers are too large"};
  if (error == beast::http::error::bad_version) return {505, "HTTP/1.1 or HTTP/1.0 was expected"};
  return {400, "this is not a well-formed HTTP/1.1 request"};
}

}  // namespace

// Fills a Request from Beast's events.
class RequestParser::Grammar : public beast::http::basic_parser<true> {
 public:
  Grammar() {
    header_limit(kMaxHeaderBytes);
    body_limit(kMaxUploadBytes);
  }

  Request request;
  std::optional<Refusal> refusal;

  // The line before the next chunk, as far as it is there.
  struct ChunkLine {
    std::optional<Refusal> fault;
    // It is the last chunk's, and what ends the body isn't there yet.
    bool is_cut = false;
  };

  // Judged before Beast sees it, which would go on reading for the end that a wrong one never has,
  // and which asserts that no last chunk is cut behind its line.
  ChunkLine JudgeChunkLine(std::string_view bytes) const {
    if (!chunked() || left_of_chunk_ > 0) return {};
    // The line end of the chunk before; the first chunk has none.
    if (after_a_chunk_) {
      const std::string_view before = bytes.substr(0, kLineEnd.size());
      if (before != kLineEnd.substr(0, before.size())) {
        return {.fault = Refusal{400, "lines must end with CR LF"}};
      }
      bytes.remove_prefix(before.size());
    }
    const std::size_t end = bytes.substr(0, kMaxChunkLineBytes).find('\n');
    if (end == std::string_view::npos) {
      if (bytes.size() < kMaxChunkLineBytes) return {};
      return {.fault = Refusal{400, "a chunk's line is too long"}};
    }
    if (end == 0 || bytes[end - 1] != '\r') {
      return {.fault = Refusal{400, "lines must end with CR LF"}};
    }
    const std::string_view size = bytes.substr(0, end - 1);
    if (size.empty() || size.find_first_not_of(kHexDigits) != std::string_view::npos) {
      return {.fault = Refusal{400, "a chunk's line must be its size alone"}};
    }
    const bool is_last = size.find_first_not_of('0') == std::string_view::npos;
    const std::string_view rest = bytes.substr(end + 1, kLineEnd.size());
    if (is_last && rest != kLineEnd.substr(0, rest.size())) {
      return {.fault = Refusal{400, "trailers are not accepted"}};
    }
    return {.fault = std::nullopt, .is_cut = is_last && rest.size() < kLineEnd.size()};
  }

 private:
  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target,
                       int version, ErrorCode& error) override {
    request.method.assign(method.data(), method.size());
    request.target.assign(target.data(), target.size());
    request.http_1_0 = version == 10;
    if (version != 10 && version != 11) return Fail(&error, 505, "HTTP/1.1 was expected");
    if (target.size() > kMaxUrlBytes) return Fail(&error, 414, "the URL is too long");
  }

  void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value,
                     ErrorCode& error) override {
    if (head_done_) return Fail(&error, 400, "trailers are not accepted");
    std::string lower = absl::AsciiStrToLower(absl::string_view(name.data(), name.size()));
    const std::string_view text(value.data(), value.size());
    if (lower == "content-length" && !IsLength(text)) {
      return Fail(&error, 400, "Content-Length must be one number");
    }
    if (lower == "transfer-encoding" &&
        (request.http_1_0 || !absl::EqualsIgnoreCase(ToAbsl(text), "chunked"))) {
      return Fail(&error, 400, "the only Transfer-Encoding is chunked");
    }
    for (Header& header : request.headers) {
      if (header.name != lower) continue;
      if (std::find(kOnce.begin(), kOnce.end(), lower) != kOnce.end()) {
        return Fail(&error, 400, "a header stands twice that may stand only once");
      }
      return StrAppend(&header.value, ", ", text);
    }
    if (request.headers.size() == kMaxHeaders) return Fail(&error, 431, "too many headers");
    request.headers.push_back({std::move(lower), std::string(text)});
  }

  void on_header_impl(ErrorCode&) override {
    head_done_ = true;
    request.keep_alive = keep_alive();
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, ErrorCode&) override {
    request.body.reserve(std::min<std::size_t>(length.value_or(0), kHttpPieceBytes));
  }

  std::size_t on_body_impl(beast::string_view body, ErrorCode&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }

  void on_chunk_header_impl(std::uint64_t size, beast::string_view extensions,
                            ErrorCode& error) override {
    left_of_chunk_ = size;
    after_a_chunk_ = true;
    if (!extensions.empty()) Fail(&error, 400, "chunk extensions are not accepted");
  }

  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, ErrorCode&) override {
    left_of_chunk_ -= body.size();
    request.body.append(body.data(), body.size());
    return body.size();
  }

  void on_response_impl(int, beast::string_view, int, ErrorCode&) override {}
  void on_finish_impl(ErrorCode&) override {}

  void Fail(ErrorCode* error, int status, std::string_view reason) {
    refusal = Refusal{status, reason};
    *error = beast::http::error::bad_value;
  }

  bool head_done_ = false;
  bool after_a_chunk_ = false;
  std::uint64_t left_of_chunk_ = 0;
};

RequestParser::RequestParser() : grammar_(std::make_unique<Grammar>()) {}
RequestParser::~RequestParser() = default;

Request& RequestParser::request() { return grammar_->request; }

void RequestParser::Reset() {
  grammar_ = std::make_unique<Grammar>();
  stage_ = Stage::kHead;
  line_start_ = 0;
}

std::size_t RequestParser::Refuse(int status, std::string_view reason) {
  stage_ = Stage::kRefused;
  refusal_ = {status, reason};
  return 0;
}

std::size_t RequestParser::Feed(std::string_view bytes) {
  if (stage_ == Stage::kHead) return FeedHead(bytes);
  if (stage_ == Stage::kBody) return FeedBody(bytes);
  return 0;
}

std::size_t RequestParser::FindEndOfHead(std::string_view bytes) {
  for (;;) {
    const std::size_t end = bytes.find('\n', line_start_);
    if (end == std::string_view::npos) {
      return bytes.size() < kMaxHeaderBytes ? 0 : Refuse(431, "the headers are too large");
    }
    if (end == 0 || bytes[end - 1] != '\r') return Refuse(400, "lines must end with CR LF");
    if (end > kMaxHeaderBytes) return Refuse(431, "the headers are too large");
    if (end - 1 == line_start_ && line_start_ > 0) return end + 1;
    if (bytes[line_start_] == ' ' || bytes[line_start_] == '\t') {
      return Refuse(400, "folded headers are not accepted");
    }
    line_start_ = end + 1;
  }
}

std::size_t RequestParser::FeedHead(std::string_view bytes) {
  const std::size_t length = FindEndOfHead(bytes);
  if (length == 0) return 0;
  ErrorCode error;
  grammar_->put(boost::asio::buffer(bytes.data(), length), error);
  if (grammar_->refusal.has_value()) {
    return Refuse(grammar_->refusal->status, grammar_->refusal->reason);
  }
  if (error || !grammar_->is_header_done()) {
    const Refusal refusal = RefusalOf(error);
    return Refuse(refusal.status, refusal.reason);
  }
  stage_ = grammar_->is_done() ? Stage::kDone : Stage::kBody;
  return length;
}

std::size_t RequestParser::FeedBody(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const Grammar::ChunkLine line = grammar_->JudgeChunkLine(bytes);
  if (line.fault.has_value()) return Refuse(line.fault->status, line.fault->reason);
  if (line.is_cut) return 0;
  ErrorCode error;
  const std::size_t taken = grammar_->put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (grammar_->refusal.has_value()) {
    return Refuse(grammar_->refusal->status, grammar_->refusal->reason);
  }
  if (error == beast::http::error::need_more) error = {};
  if (error) {
    const Refusal refusal = RefusalOf(error);
    return Refuse(refusal.status, refusal.reason);
  }
  if (grammar_->is_done()) stage_ = Stage::kDone;
  return taken;
}

}  // namespace sandkeep::http
