// The MCP endpoint without its transport: one JSON-RPC message in, an answer out. Knows no HTTP:
// what the protocol mirrors in headers comes in as fields, what it says by a status code goes out
// as a Disposition.
//
// Serves both eras on one endpoint: the body decides which. Thread-safe; each request is one
// coroutine on its caller's executor, with no state shared between requests but the agent client,
// what is known of the host, and the table of calls that can be cancelled by their id. So there are
// no sessions: the id that older revisions' clients get is a name, and any other does as well.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/client/agent_client.h"
#include "common/async.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/random.h"
#include "gateway/mcp/upload_desk.h"

namespace sandkeep::mcp {

// Who calls, as the transport found out.
struct Caller {
  PrincipalId principal;
  std::string name;  // For display.
};

struct Request {
  Caller caller;
  std::string body;  // At most kMaxBodyBytes.
  // What 2026-07-28 mirrors into headers; nullopt: absent.
  std::optional<std::string> protocol_version;
  std::optional<std::string> method;
  std::optional<std::string> name;
  bool accepts_event_stream = false;
  // What an older revision's client calls its session, if it does: see Reply::session.
  std::string session = {};
  // All headers as received, for sandbox_info, which shows an allowlist of them.
  std::vector<std::pair<std::string, std::string>> headers;
  // The origin under which the person reaches us: links start with it. No trailing slash.
  std::string public_base;
};

enum class Disposition {
  kOk,          // 200 and a body
  kAccepted,    // 202, no body
  kBadRequest,  // 400
  kNotFound,    // 404
};

struct Reply {
  Disposition disposition = Disposition::kOk;
  std::string body;  // JSON; empty with kAccepted.
  // A session's name for a client that begins one. Nothing is kept under it and nothing trusts it:
  // a client that brings it along has its calls told apart from those of the same person's others.
  std::string session = {};
};

// Where events go while a call runs. The transport opens the event stream at the first one.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // One JSON-RPC notification. Never blocks: what the client doesn't read in time is dropped.
  virtual void Notify(std::string json) = 0;
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  // Never fails: every error is an answer of the protocol.
  //
  // To be started by a co_spawn of its own, since it handles cancellation by itself. The transport
  // emits `terminal` on its slot, from the same executor, whenever the client's stream has closed:
  // in 2026-07-28 that ends the call, in older versions the command runs on. Either way Handle
  // then comes to its end by itself (it may have to tell the agent first), and nobody wants the
  // reply.
  virtual boost::asio::awaitable<Reply> Handle(Request request, EventSink& events) = 0;
};

// What a link is for: the sandbox as the agent names it, and whose it is.
struct LinkTarget {
  std::string_view principal;
  std::string_view key;
  std::string_view generation;
  bool persistent = false;  // The profile, which decides how long a link lives.
};

enum class ArchiveFormat { kZip, kTar };

// Makes signed links; the downloads folder has the real one.
class LinkMaker {
 public:
  virtual ~LinkMaker() = default;
  // The whole URL for a file.
  virtual std::string Make(std::string_view public_base, const LinkTarget& target,
                           std::string_view path) = 0;
  // The same for a folder, as an archive of all that is in it when the link is used. An empty path:
  // the workspace.
  virtual std::string MakeForFolder(std::string_view public_base, const LinkTarget& target,
                                    std::string_view path, ArchiveFormat format) = 0;
  // The same for all that a job printed, as it is; of one with two streams, one of them.
  virtual std::string MakeForJob(std::string_view public_base, const LinkTarget& target,
                                 const JobId& job, bool errors) = 0;
  virtual std::chrono::seconds LifetimeFor(const LinkTarget& target) const = 0;
};

struct EndpointSettings {
  std::size_t max_output_bytes = 49152;  // MAX_OUTPUT_BYTES
  // The same of each stream in the persistent profile.
  std::size_t apart_output_bytes = 200000;
  std::size_t inline_max_bytes = 49152;   // SANDBOX_INLINE_MAX
  std::size_t image_max_bytes = 1572864;  // SANDBOX_IMAGE_MAX
  bool cancel_on_disconnect = true;       // CANCEL_ON_DISCONNECT
  UploadDesk* uploads = nullptr;          // Outlives the endpoint; without it nothing is handed in.
  // A file's media type by its name; the downloads folder has the table.
  std::function<std::string(std::string_view name)> mime_type_of;
};

// All references outlive the endpoint, and the endpoint every call of Handle.
std::unique_ptr<Endpoint> MakeEndpoint(AgentClient& agent, LinkMaker& links, Clock& clock,
                                       Random& random, EndpointSettings settings);

}  // namespace sandkeep::mcp
