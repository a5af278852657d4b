// Resources: what a client may list and read by its URI, and the methods of the protocol that do
// so. A source is one kind of resource, told apart by its URIs. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/async.h"
#include "gateway/mcp/call_context.h"
#include "gateway/mcp/content.h"
#include "gateway/mcp/method.h"

namespace sandkeep::mcp {

struct ResourceInfo {
  std::string uri;
  std::string name;
  std::string title;        // Empty: none.
  std::string description;  // Empty: none.
  std::string mime_type;    // Empty: unknown.
  std::optional<std::int64_t> size;
};

struct ResourceTemplate {
  std::string uri_template;  // RFC 6570.
  std::string name;
  std::string title;
  std::string description;
  std::string mime_type;
};

struct ResourcePage {
  std::vector<ResourceInfo> resources;
  // What the next call is given; empty: that was all. At most kMaxCursorBytes - 16.
  std::string next_cursor;
};

class ResourceSource {
 public:
  virtual ~ResourceSource() = default;

  // What this call's principal may see. `cursor` is empty, or comes from the client: it may be
  // anything (InvalidArgument).
  virtual Async<ResourcePage> List(CallContext& context, std::string cursor) = 0;

  virtual std::vector<ResourceTemplate> Templates() const { return {}; }

  // `uri` has at most kMaxResourceUriBytes. nullopt: it names nothing of this source's that this
  // principal may read. Never empty.
  virtual Async<std::optional<std::vector<ResourceContent>>> Read(CallContext& context,
                                                                  std::string uri) = 0;

  // Values for a variable of one of its templates that begin with what is there.
  virtual bool completes() const { return false; }
  virtual Async<std::vector<std::string>> Complete(CallContext& context, std::string uri_template,
                                                   std::string variable, std::string begun);
};

using ResourceSources = std::vector<std::unique_ptr<ResourceSource>>;

// resources/list, resources/templates/list, resources/read. The sources outlive the methods.
void AddResourceMethods(const ResourceSources& sources, Methods* methods);

}  // namespace sandkeep::mcp
