// Bytes to Request, strictly. Beast's parser does the grammar; around it stands what a front server
// and we could read differently, which is refused instead of interpreted: folded headers, line ends
// without CR, any Transfer-Encoding but one `chunked`, repeated or listed Content-Length, both of
// them, chunk extensions, trailers, repeated headers that decide something.
//
// One request at a time; belongs to its connection.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "gateway/http/request.h"

namespace sandkeep::http {

class RequestParser {
 public:
  enum class Stage { kHead, kBody, kDone, kRefused };

  // What is wrong with the request: an HTTP status and a sentence. The connection can't go on.
  struct Refusal {
    int status;
    std::string_view reason;
  };

  RequestParser();
  ~RequestParser();

  // Takes what it can from the front of `bytes` and returns how much that was. The head is taken
  // in one piece: until it is whole, 0. Stops at the end of the head and of the request.
  std::size_t Feed(std::string_view bytes);

  Stage stage() const { return stage_; }
  const Refusal& refusal() const { return refusal_; }
  // Complete but for the body from Stage::kBody on. What of the body is there may be taken out; how
  // much may be there is for the connection to say.
  Request& request();

  // 413: nobody takes a body of this size.
  void RefuseBody() { Refuse(413, "the body is too large"); }

  // For the next request.
  void Reset();

 private:
  class Grammar;

  std::size_t FeedHead(std::string_view bytes);
  std::size_t FeedBody(std::string_view bytes);
  // The head's length once its end is there; 0: not yet, or refused.
  std::size_t FindEndOfHead(std::string_view bytes);
  std::size_t Refuse(int status, std::string_view reason);

  std::unique_ptr<Grammar> grammar_;
  Stage stage_ = Stage::kHead;
  Refusal refusal_{400, ""};
  std::size_t line_start_ = 0;  // Of the head's first line that hasn't been looked at.
};

}  // namespace sandkeep::http
