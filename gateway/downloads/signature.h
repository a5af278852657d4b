// What makes a link one of ours: the first 128 bits of an HMAC-SHA-256 over all that it says. Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/secret.h"
#include "gateway/mcp/endpoint.h"

namespace sandkeep {

// Bumped if the meaning of what is signed ever changes; other uses of the same secret have another.
inline constexpr std::string_view kFileTag = "sandkeep-download-1";
inline constexpr std::string_view kOutputTag = "sandkeep-output-1";
inline constexpr std::string_view kFolderTag = "sandkeep-folder-1";

// What is signed, but for the path.
struct SignedLink {
  std::string_view tag;
  std::string_view generation;
  std::string_view key;
  std::int64_t expiry = 0;
  std::int64_t epoch = 0;
  // Of a link that stands on a folder's page: the mark of that folder's link.
  std::string_view parent = {};
};

std::string SignatureOf(const Secret& secret, const SignedLink& link, std::string_view path);

// What a folder's link is known by in those that stand on its page: they end when it is revoked,
// and who is given one of them learns nothing of the folder's own.
inline constexpr std::size_t kParentMarkBytes = 8;
std::string ParentMark(std::string_view signature);

// A link's bytes in its address.
std::string Base64Url(std::string_view bytes);

// Behind a folder's path, in the path of its link; the workspace has none before it.
std::string_view EndingOf(mcp::ArchiveFormat format);

// Each field behind its length: no two different links have one input.
void AppendField(std::string* input, std::string_view field);

}  // namespace sandkeep
