#include "gateway/oauth/server.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/run_on.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "gateway/oauth/client_auth.h"
#include "gateway/oauth/metadata.h"
#include "gateway/oauth/registration.h"
#include "gateway/oauth/resource.h"

namespace sandkeep::oauth {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::string_view kJson = "application/json";

http::Response Json(int status, std::string body) {
  return http::TextResponse(status, kJson, std::move(body));
}

http::Response InvalidClient(const http::Request& request, const absl::Status& why) {
  http::Response response = http::ErrorResponse(401, "invalid_client", ToStd(why.message()));
  if (request.Find("authorization") != nullptr) {
    response.headers.push_back({"WWW-Authenticate", "Basic realm=\"sandkeep\""});
  }
  return response;
}

// By why the store refused.
http::Response Refused(const absl::Status& why) {
  if (absl::IsPermissionDenied(why)) {
    return http::ErrorResponse(400, "invalid_grant", ToStd(why.message()));
  }
  if (absl::IsFailedPrecondition(why)) {
    return http::ErrorResponse(400, "invalid_target", ToStd(why.message()));
  }
  Log(Severity::kError, "token.failed", {{"why", why}});
  http::Response response = http::ErrorResponse(503, "temporarily_unavailable",
                                                "the server can't write to its disk: try again");
  response.headers.push_back({"Retry-After", "5"});
  return response;
}

http::Response TokenAnswer(const Issued& issued) {
  const auto text = [](std::string_view value) {
    return json::string_view(value.data(), value.size());
  };
  json::object answer;
  answer["access_token"] = text(issued.access.Reveal());
  answer["token_type"] = "Bearer";
  answer["expires_in"] = kAccessTokenLifetime.count();
  answer["refresh_token"] = text(issued.refresh.Reveal());
  answer["scope"] = issued.scope;
  return Json(200, json::serialize(answer));
}

bool IsForm(const http::Request& request) {
  const std::string* type = request.Find("content-type");
  return type != nullptr && absl::StartsWithIgnoreCase(*type, "application/x-www-form-urlencoded");
}

absl::StatusOr<Form> FormOf(const http::Request& request) {
  if (!IsForm(request)) {
    return absl::InvalidArgumentError("the body must be application/x-www-form-urlencoded");
  }
  return Form::Parse(request.body);
}

http::Response InvalidRequest(std::string_view why) {
  return http::ErrorResponse(400, "invalid_request", why);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Database db, AccessKeys& keys, Random& random,
                                                      const Clock& clock) {
  ASSIGN_OR_RETURN(const Secret secret, LoadServerSecret(db, random, clock));
  std::unique_ptr<Server> server(new Server(std::move(db), secret, keys, random, clock));
  RETURN_IF_ERROR(server->store_.Load());
  return server;
}

Server::Server(Database db, const Secret& secret, AccessKeys& keys, Random& random,
               const Clock& clock)
    : random_(random),
      clock_(clock),
      tokens_(keys, clock),
      registry_(secret),
      store_(std::move(db), secret, tokens_, random, clock),
      registrations_(kRegistrationsAtOnce, kRegistrationsPerSecond, clock),
      authorize_({.keys = keys,
                  .registry = registry_,
                  .store = store_,
                  .store_thread = store_thread_,
                  .random = random,
                  .clock = clock},
                 secret) {}

Server::~Server() { store_thread_.join(); }

asio::awaitable<void> Server::Handle(http::Exchange& exchange) {
  http::Response response = co_await Answer(exchange.request());
  co_await exchange.Send(std::move(response));
}

// The router has let nothing else in.
asio::awaitable<http::Response> Server::Answer(const http::Request& request) {
  if (request.path == "/authorize" && request.method == "GET") co_return authorize_.Show(request);
  if (request.path == "/authorize") co_return co_await authorize_.Decide(request);
  if (request.path == "/token") co_return co_await Token(request);
  if (request.path == "/revoke") co_return co_await Revoke(request);
  if (request.path == "/register") co_return Register(request);
  std::optional<std::string> document = MetadataAt(request.path, request.public_base);
  if (document.has_value()) co_return Json(200, *std::move(document));
  co_return http::ErrorResponse(404, "not_found", "there is no such document here");
}

http::Response Server::Register(const http::Request& request) {
  if (!registrations_.Take(request.peer)) {
    http::Response response =
        http::ErrorResponse(429, "too_many_requests", "too many registrations: slow down");
    response.headers.push_back({"Retry-After", "1"});
    return response;
  }
  Registration registration = ReadRegistration(request.body);
  if (!registration.ok()) {
    return http::ErrorResponse(400, registration.refusal.error, registration.refusal.description);
  }
  registration.client.registered_at = absl::ToUnixSeconds(clock_.Now());
  const absl::StatusOr<Client> client = registry_.Register(std::move(registration.client), random_);
  if (!client.ok()) {
    return http::ErrorResponse(400, "invalid_client_metadata", ToStd(client.status().message()));
  }
  const Secret secret = client->confidential ? registry_.SecretOf(*client) : Secret();
  return Json(201, RegistrationAnswer(*client, secret));
}

asio::awaitable<http::Response> Server::Token(const http::Request& request) {
  const absl::StatusOr<Form> form = FormOf(request);
  if (!form.ok()) co_return InvalidRequest(ToStd(form.status().message()));
  const absl::StatusOr<Client> client = Authenticate(request, *form, registry_);
  if (!client.ok()) co_return InvalidClient(request, client.status());
  co_return co_await Grant(request, *form, *client);
}

asio::awaitable<http::Response> Server::Grant(const http::Request& request, const Form& form,
                                              const Client& client) {
  const std::string& type = form.Get("grant_type");
  const bool fits = MeansOurResource(form.All("resource"), request.public_base);
  absl::StatusOr<Issued> issued = absl::InternalError("no grant");
  if (type == "authorization_code") {
    if (form.Get("code").empty()) co_return InvalidRequest("code is missing");
    if (form.Get("code_verifier").empty()) co_return InvalidRequest("code_verifier is missing");
    auto redeem = [this, redemption = Redemption{.code = form.Get("code"),
                                                 .client = client.hash,
                                                 .redirect_uri = form.Get("redirect_uri"),
                                                 .verifier = form.Get("code_verifier"),
                                                 .resource_fits = fits}] {
      return store_.Redeem(redemption);
    };
    issued = co_await RunOn(store_thread_.get_executor(), std::move(redeem));
  } else if (type == "refresh_token") {
    if (form.Get("refresh_token").empty()) co_return InvalidRequest("refresh_token is missing");
    auto refresh = [this, token = form.Get("refresh_token"), hash = client.hash, fits] {
      return store_.Refresh(token, hash, fits);
    };
    issued = co_await RunOn(store_thread_.get_executor(), std::move(refresh));
  } else if (type.empty()) {
    co_return InvalidRequest("grant_type is missing");
  } else {
    co_return http::ErrorResponse(400, "unsupported_grant_type",
                                  "grant_type must be authorization_code or refresh_token");
  }
  co_return issued.ok() ? TokenAnswer(*issued) : Refused(issued.status());
}

asio::awaitable<http::Response> Server::Revoke(const http::Request& request) {
  const absl::StatusOr<Form> form = FormOf(request);
  if (!form.ok()) co_return InvalidRequest(ToStd(form.status().message()));
  const absl::StatusOr<Client> client = Authenticate(request, *form, registry_);
  if (!client.ok()) co_return InvalidClient(request, client.status());
  if (form->Get("token").empty()) co_return InvalidRequest("token is missing");
  auto revoke = [this, token = form->Get("token"), hash = client->hash] {
    return store_.Revoke(token, hash);
  };
  const absl::Status revoked = co_await RunOn(store_thread_.get_executor(), std::move(revoke));
  co_return revoked.ok() ? Json(200, "{}") : Refused(revoked);
}

}  // namespace sandkeep::oauth
