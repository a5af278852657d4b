#include "gateway/downloads/page_links.h"

#include "common/limits.h"
#include "common/rel_path.h"
#include "common/strings.h"
#include "gateway/downloads/percent.h"

namespace sandkeep {

std::optional<std::string> PageLinks::Make(std::string_view tag, std::string_view path) const {
  if (!RelPath::Parse(path).ok()) return std::nullopt;
  const SignedLink link{.tag = tag,
                        .generation = terms_.generation,
                        .key = terms_.key,
                        .expiry = terms_.expiry,
                        .epoch = terms_.epoch,
                        .parent = terms_.parent};
  const std::string signature = SignatureOf(secret_, link, path);
  const std::string target =
      StrCat("/dl/", terms_.expiry, "/", Base64Url(signature + terms_.parent), "/", terms_.key, "/",
             PercentEncode(path, /*keep_slash=*/true));
  // Nobody could follow it.
  if (target.size() > kMaxUrlBytes) return std::nullopt;
  return terms_.base + target;
}

std::optional<std::string> PageLinks::ToFile(std::string_view path) const {
  return Make(kFileTag, path);
}

std::optional<std::string> PageLinks::ToFolder(std::string_view path,
                                               mcp::ArchiveFormat format) const {
  return Make(kFolderTag, StrCat(path, EndingOf(format)));
}

}  // namespace sandkeep
