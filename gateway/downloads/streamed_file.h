// A file that is pulled from the agent's API chunk by chunk, as fast as the client takes it. One
// coroutine's.
#pragma once

#include "gateway/downloads/file_source.h"

namespace sandkeep {

class StreamedFile : public FileSource {
 public:
  // `agent` outlives it. `info` as StatFile gave it: Send answers Aborted if it is another by then.
  StreamedFile(AgentClient& agent, WantedFile wanted, agent::v1::FileInfo info)
      : agent_(agent), wanted_(std::move(wanted)), info_(std::move(info)) {}

  const agent::v1::FileInfo& info() const override { return info_; }
  Async<void> Send(http::Exchange& exchange, http::Response head, std::int64_t offset,
                   std::int64_t length) override;

 private:
  AgentClient& agent_;
  const WantedFile wanted_;
  const agent::v1::FileInfo info_;
};

}  // namespace sandkeep
