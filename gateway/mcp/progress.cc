#include "gateway/mcp/progress.h"

#include <utility>

#include "common/limits.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "gateway/mcp/strict_json.h"

namespace sandkeep::mcp {

Progress::Progress(EventSink& sink, std::string token)
    : sink_(sink), token_(std::move(token)), last_(std::chrono::steady_clock::now()) {}

Progress::TimePoint Progress::due() const {
  if (!wanted()) return TimePoint::max();
  if (changed_) return last_ + kProgressInterval;
  return last_ + kProgressHeartbeat;
}

void Progress::Report(std::string_view message, TimePoint now) {
  if (now < due()) return;
  last_ = now;
  changed_ = false;
  std::string json =
      StrCat(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)",
             token_, R"(,"progress":)", ++count_);
  if (!message.empty()) {
    json += R"(,"message":)";
    AppendJsonString(&json, Utf8Head(message, kMaxProgressBytes));
  }
  json += "}}";
  sink_.Notify(std::move(json));
}

}  // namespace sandkeep::mcp
