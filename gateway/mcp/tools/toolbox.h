// Every tool that there is, of both profiles: which are listed, and which one a call is for. The
// agent says which profile the host has. Thread-safe; all that it is made of outlives it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <string_view>

#include "gateway/mcp/host.h"
#include "gateway/mcp/tools/job_services.h"
#include "gateway/mcp/tools/tool.h"

namespace sandkeep::mcp {

class Toolbox {
 public:
  // `more`: listed after our own.
  Toolbox(const JobServices& services, Tools more);

  // In the order in which they are listed. Of a host that never answered: with labels.
  const Tools& Of(const HostInfo& host) const;

  // The tool that a call's params mean by `name`; nullptr: none. Asks the agent only if it makes a
  // difference, since a command is one call of it.
  boost::asio::awaitable<Tool*> Named(std::string_view name, const boost::json::object& params);

 private:
  void AddUnlabelled(const JobServices& services);

  Host& host_;
  Tools labelled_;
  Tools unlabelled_;  // The persistent profile's, over the others.
};

}  // namespace sandkeep::mcp
