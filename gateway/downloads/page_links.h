// The links on a folder's page, one for each thing in it. Who has the folder's link could fetch all
// of that by it, and these are no better: signed with the very key that the folder's link was, they
// end when it ends, when that key does, and when it is revoked; and so on in folders below. One
// coroutine's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/downloads/link_table.h"
#include "gateway/downloads/signature.h"
#include "gateway/mcp/endpoint.h"

namespace sandkeep {

class PageLinks {
 public:
  struct Terms {
    std::string base;  // Where all of them lead.
    std::string generation;
    std::string key;
    std::int64_t expiry = 0;
    std::int64_t epoch = 0;
    std::string parent;  // A ParentMark.
  };
  PageLinks(Secret secret, Terms terms) : secret_(std::move(secret)), terms_(std::move(terms)) {}

  std::int64_t expiry() const { return terms_.expiry; }

  // nullopt: it has none, since the folder's name is too long to have an ending behind it.
  std::optional<std::string> ToFile(std::string_view path) const;
  std::optional<std::string> ToFolder(std::string_view path, mcp::ArchiveFormat format) const;

 private:
  std::optional<std::string> Make(std::string_view tag, std::string_view path) const;

  const Secret secret_;
  const Terms terms_;
};

}  // namespace sandkeep
