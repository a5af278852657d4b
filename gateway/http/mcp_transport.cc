#include "gateway/http/mcp_transport.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/strings.h"

namespace sandkeep::http {
namespace {

namespace asio = boost::asio;
using Steady = std::chrono::steady_clock;

constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable);

// One call of the endpoint, which may outlive the exchange that began it. Everything on the
// connection's strand.
class Call : public mcp::EventSink, public std::enable_shared_from_this<Call> {
 public:
  Call(asio::any_io_executor executor, bool takes_events)
      : executor_(executor), wake_(executor), takes_events_(takes_events) {}

  // A call that doesn't wait for anything is done when this returns.
  void Start(mcp::Endpoint& endpoint, mcp::Request request) {
    auto finished = [self = shared_from_this()](std::exception_ptr error, mcp::Reply reply) {
      self->Finish(error, std::move(reply));
    };
    asio::co_spawn(executor_, endpoint.Handle(std::move(request), *this),
                   asio::bind_cancellation_slot(cancel_.slot(), std::move(finished)));
  }

  void Notify(std::string json) override {
    const std::size_t bytes = json.size();
    if (!takes_events_ || abandoned_ || events_.size() >= kMaxWaitingEvents ||
        event_bytes_ + bytes > kMaxWaitingEventBytes) {
      return;
    }
    event_bytes_ += bytes;
    events_.push_back(std::move(json));
    wake_.cancel();
  }

  void ClientIsGone() {
    gone_ = true;
    wake_.cancel();
  }

  // The exchange is over, and nobody waits for the rest.
  void Abandon() {
    abandoned_ = true;
    if (!done_) cancel_.emit(asio::cancellation_type::terminal);
  }

  // Until something happened, or the time came.
  asio::awaitable<void> Wait(Steady::time_point until) {
    if (done_ || gone_ || !events_.empty()) co_return;
    wake_.expires_at(until);
    [[maybe_unused]] const auto woken = co_await wake_.async_wait(kUseTuple);
  }

  bool done() const { return done_; }
  bool gone() const { return gone_; }
  bool failed() const { return failed_; }
  bool has_events() const { return !events_.empty(); }
  mcp::Reply& reply() { return reply_; }

  std::string TakeEvent() {
    std::string event = std::move(events_.front());
    events_.pop_front();
    event_bytes_ -= event.size();
    return event;
  }

 private:
  void Finish(std::exception_ptr error, mcp::Reply reply) {
    done_ = true;
    reply_ = std::move(reply);
    wake_.cancel();
    // The coroutine that calls this still has its cancellation state in our signal: it must have
    // come to its end before we go.
    if (abandoned_) asio::post(executor_, [self = shared_from_this()] {});
    if (!error) return;
    failed_ = true;
    // An abandoned call may well end by its cancellation.
    if (abandoned_) return;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      Log(Severity::kError, "mcp.failed", {{"what", e.what()}});
    }
  }

  asio::any_io_executor executor_;
  asio::steady_timer wake_;
  asio::cancellation_signal cancel_;
  const bool takes_events_;
  std::deque<std::string> events_;
  std::size_t event_bytes_ = 0;
  mcp::Reply reply_;
  bool done_ = false;
  bool failed_ = false;
  bool gone_ = false;
  bool abandoned_ = false;
};

// Whatever ends the exchange, the watchdog included, ends the client's interest.
class Abandoner {
 public:
  explicit Abandoner(Call& call) : call_(call) {}
  ~Abandoner() { call_.Abandon(); }
  Abandoner(const Abandoner&) = delete;
  Abandoner& operator=(const Abandoner&) = delete;

 private:
  Call& call_;
};

std::optional<std::string> Copy(const std::string* value) {
  return value == nullptr ? std::nullopt : std::optional(*value);
}

// What the client takes. No header at all, or one we can't read, means JSON: nobody gets a 406.
struct Accepts {
  bool json = true;
  bool event_stream = false;

  explicit Accepts(const Request& request) {
    const std::string* value = request.Find("accept");
    if (value == nullptr) return;
    const std::string lower = absl::AsciiStrToLower(*value);
    event_stream = absl::StrContains(lower, "text/event-stream");
    json = !event_stream || absl::StrContains(lower, "application/json") ||
           absl::StrContains(lower, "*/*") || absl::StrContains(lower, "application/*");
  }
};

// Nothing behind this may repeat a credential, whatever it does with the headers.
std::vector<std::pair<std::string, std::string>> RedactedHeaders(const Request& request) {
  std::vector<std::pair<std::string, std::string>> headers;
  headers.reserve(request.headers.size());
  for (const Header& header : request.headers) {
    const bool secret = header.name == "authorization" || header.name == "cookie" ||
                        header.name == "proxy-authorization";
    headers.emplace_back(header.name, secret ? "<redacted>" : header.value);
  }
  return headers;
}

// A name that nobody could have been given counts as none.
std::string SessionOf(const Request& request) {
  const std::string* session = request.Find("mcp-session-id");
  const bool visible =
      session != nullptr && session->size() <= kMaxSessionIdBytes &&
      std::all_of(session->begin(), session->end(), [](char c) { return c > ' ' && c < '\x7f'; });
  return visible ? *session : std::string();
}

mcp::Request MakeRequest(Request& request, const Accepts& accepts) {
  return {.caller = {.principal = request.caller->principal, .name = request.caller->name},
          .body = std::move(request.body),
          .protocol_version = Copy(request.Find("mcp-protocol-version")),
          .method = Copy(request.Find("mcp-method")),
          .name = Copy(request.Find("mcp-name")),
          .accepts_event_stream = accepts.event_stream,
          .session = SessionOf(request),
          .headers = RedactedHeaders(request),
          .public_base = request.public_base};
}

int StatusOf(mcp::Disposition disposition) {
  switch (disposition) {
    case mcp::Disposition::kOk:
      return 200;
    case mcp::Disposition::kAccepted:
      return 202;
    case mcp::Disposition::kBadRequest:
      return 400;
    case mcp::Disposition::kNotFound:
      return 404;
  }
  return 500;
}

Response JsonAnswer(Call& call) {
  if (call.failed()) {
    return ErrorResponse(500, "server_error",
                         "the call failed inside the gateway; its log says more");
  }
  mcp::Reply& reply = call.reply();
  Response response{
      .status = StatusOf(reply.disposition), .headers = {}, .body = std::move(reply.body)};
  if (!response.body.empty()) response.headers.push_back({"Content-Type", "application/json"});
  if (!reply.session.empty()) {
    response.headers.push_back({"Mcp-Session-Id", std::move(reply.session)});
  }
  return response;
}

bool IsResult(Call& call) {
  return !call.failed() && call.reply().disposition == mcp::Disposition::kOk;
}

Response StreamHead(Call& call) {
  Response head = {.status = 200,
                   .headers = {{"Content-Type", "text/event-stream"},
                               // Proxies would hold events back to fill their buffers.
                               {"X-Accel-Buffering", "no"},
                               {"Cache-Control", "no-store, no-transform"}},
                   // A first byte, so that the client sees its stream now.
                   .body = ":\n\n"};
  // Nothing that takes time begins a session.
  if (call.done() && !call.reply().session.empty()) {
    head.headers.push_back({"Mcp-Session-Id", std::move(call.reply().session)});
  }
  return head;
}

// JSON has no line ends outside its strings, and none inside them.
std::string Event(std::string_view json) { return StrCat("event: message\ndata: ", json, "\n\n"); }

// False: the client is gone.
asio::awaitable<bool> SendEvents(Exchange& exchange, Call& call) {
  while (call.has_events()) {
    const std::string event = Event(call.TakeEvent());
    const bool written = co_await exchange.Write(event);
    if (!written) co_return false;
  }
  co_return true;
}

asio::awaitable<void> Stream(Exchange& exchange, Call& call, Steady::duration keep_alive) {
  Response head = StreamHead(call);
  bool written = co_await exchange.Begin(std::move(head), std::nullopt);
  while (written && !call.done() && !call.gone()) {
    written = co_await SendEvents(exchange, call);
    const Steady::time_point next = Steady::now() + keep_alive;
    if (written) co_await call.Wait(next);
    if (written && Steady::now() >= next) written = co_await exchange.Write(": keep-alive\n\n");
  }
  if (written) written = co_await SendEvents(exchange, call);
  if (!written || call.gone()) co_return;
  // A call that failed inside has no answer: the stream breaks off, and the client sees that.
  if (call.failed()) co_return;
  if (!call.reply().body.empty()) {
    const std::string last = Event(call.reply().body);
    written = co_await exchange.Write(last);
  }
  if (written) co_await exchange.End();
}

}  // namespace

asio::awaitable<void> McpTransport::Handle(Exchange& exchange) {
  const Accepts accepts(exchange.request());
  const auto executor = co_await asio::this_coro::executor;
  const auto call = std::make_shared<Call>(executor, accepts.event_stream);
  const Abandoner abandoner(*call);
  mcp::Request request = MakeRequest(exchange.request(), accepts);
  call->Start(endpoint_, std::move(request));
  const Steady::time_point begun = Steady::now();
  const Steady::time_point stream_at =
      accepts.event_stream ? begun + timing_.stream_after : Steady::time_point::max();
  // Most calls are over before. Who leaves one of those is found out by its answer.
  co_await call->Wait(std::min(begun + timing_.watch_after, stream_at));
  if (!call->done()) {
    auto gone = [call] { call->ClientIsGone(); };
    exchange.WatchForClose(std::move(gone));
  }
  while (!call->done() && !call->gone()) {
    if (call->has_events() || Steady::now() >= stream_at) break;
    co_await call->Wait(stream_at);
  }
  if (call->gone()) co_return;
  if (!call->done() || (!accepts.json && IsResult(*call))) {
    co_await Stream(exchange, *call, timing_.keep_alive);
    co_return;
  }
  Response response = JsonAnswer(*call);
  co_await exchange.Send(std::move(response));
}

}  // namespace sandkeep::http
