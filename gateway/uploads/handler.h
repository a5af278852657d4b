// /up/<token>/…: the page on which a person hands files in, and the bytes of them.
//
//   GET  /up/<token>/          the page
//   HEAD /up/<token>/<name>    how much of that file has come: Upload-Offset, Upload-Complete
//                              (Upload-Length: its size)
//   PUT  /up/<token>/<name>    the file, or with Content-Range a piece of it, at most 32 MiB
//   POST /up/<token>/          the person is done
//
// A sender that names its file by an Upload-Id of its own may send it once more when it didn't hear
// that it had arrived: it is told so, and there is no second one.
//
// The token is the permission. A file stands in the workspace once it is whole; until then its
// bytes lie beside their place, and are found again after whatever death. Bodies are streamed: a
// slow disk stops the sender.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "agent/client/agent_client.h"
#include "common/limits.h"
#include "common/rel_path.h"
#include "gateway/http/exchange.h"
#include "gateway/keys/access_keys.h"
#include "gateway/uploads/content_range.h"
#include "gateway/uploads/uploads.h"

namespace sandkeep {

class UploadHandler : public http::Handler {
 public:
  // All outlive it. `patience`: see pace.h.
  UploadHandler(AgentClient& agent, Uploads& uploads, const AccessKeys& keys,
                std::chrono::milliseconds patience = kWriteDeadline)
      : agent_(agent), uploads_(uploads), keys_(keys), patience_(patience) {}

  boost::asio::awaitable<void> Handle(http::Exchange& exchange) override;
  bool streams_bodies() const override { return true; }

 private:
  // A file of an upload: how the agent knows it.
  struct Item {
    UploadGrant grant;
    SentFile sent;
  };

  boost::asio::awaitable<http::Response> Answer(http::Exchange& exchange);
  static absl::StatusOr<Item> ItemOf(UploadGrant grant, const std::string& name, std::int64_t size,
                                     const std::string* id);
  // What the agent has of it: its part, or the file that it became, whose note was lost.
  struct Found {
    std::int64_t received = 0;
    std::optional<mcp::ArrivedFile> placed = {};
  };
  Async<Found> Look(const Item& item);
  // Looks, and neither makes nor ends anything.
  boost::asio::awaitable<http::Response> Status(Item item);
  boost::asio::awaitable<http::Response> Take(http::Exchange& exchange, Item item,
                                              std::optional<ContentRange> range);
  // The agent's word after a piece; nullopt: the sender is gone, or to be given up.
  boost::asio::awaitable<std::optional<absl::StatusOr<agent::v1::WriteFileResponse>>> Pass(
      http::Exchange& exchange, agent::v1::WriteFileHeader header,
      const Uploads::Transfer& transfer);
  // What is sent again of a file that is there.
  boost::asio::awaitable<http::Response> Drain(http::Exchange& exchange, mcp::ArrivedFile file);
  // A name that is taken makes room for both.
  Async<agent::v1::WriteFileResponse> TakeFreeName(agent::v1::WriteFileHeader header);
  static agent::v1::WriteFileHeader HeaderOf(const Item& item, std::int64_t offset);

  AgentClient& agent_;
  Uploads& uploads_;
  const AccessKeys& keys_;
  const std::chrono::milliseconds patience_;
  std::atomic<int> streams_{0};
};

}  // namespace sandkeep
