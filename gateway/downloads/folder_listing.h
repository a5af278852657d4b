// What is in a folder, for its page: counted all, kept as many as are shown. Folders first, then by
// name, as people know it from their own: what is numbered stands together, and nothing moves while
// they look for it, although the sandbox goes on writing. One coroutine's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/client/agent_client.h"
#include "gateway/downloads/page_links.h"
#include "gateway/pages/folder.h"

namespace sandkeep {

class FolderListing {
 public:
  void Add(agent::v1::FileInfo info);
  // There is more than anybody can list, or than has a path that can be asked for.
  void IsNotAll() { all_ = false; }
  // So many that counting on helps nobody.
  bool IsEndless() const;

  // Of the folder at `path`, whose own link is to an archive of `format`.
  FolderPageView View(std::string_view path, mcp::ArchiveFormat format, const PageLinks& links) &&;

 private:
  std::int64_t count() const { return folder_count_ + file_count_ + other_count_; }
  std::string Summary() const;
  std::string LeftOut(std::size_t shown) const;

  // At most kMaxListedFiles of each; the others are only counted.
  std::vector<agent::v1::FileInfo> folders_;
  std::vector<agent::v1::FileInfo> files_;
  std::int64_t folder_count_ = 0;
  std::int64_t file_count_ = 0;
  std::int64_t other_count_ = 0;  // Kept with the files.
  std::int64_t bytes_ = 0;
  bool all_ = true;
};

}  // namespace sandkeep
