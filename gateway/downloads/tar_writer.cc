#include "gateway/downloads/tar_writer.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

constexpr std::size_t kBlock = 512;
// Empty ones, which end an archive.
constexpr std::size_t kEndBlocks = 2;
constexpr std::size_t kNameBytes = 100;
// What eleven octal digits hold.
constexpr std::int64_t kMaxOctal = 077777777777;
constexpr char kRegular = '0';
constexpr char kFolder = '5';
constexpr char kExtended = 'x';

void Put(std::string_view text, std::size_t at, std::string* block) {
  block->replace(at, text.size(), text);
}

std::string Octal(std::int64_t value, int digits) { return absl::StrFormat("%0*o", digits, value); }

// Seconds before 1970, or beyond what fits, have no place in it.
std::int64_t InRange(std::int64_t value) { return std::clamp<std::int64_t>(value, 0, kMaxOctal); }

void AppendHeader(const ArchiveEntry& entry, char type, std::string* out) {
  std::string block(kBlock, '\0');
  Put(entry.name.substr(0, kNameBytes), 0, &block);
  Put(Octal(entry.mode & 0777, 7), 100, &block);
  Put(Octal(0, 7), 108, &block);
  Put(Octal(0, 7), 116, &block);
  Put(Octal(InRange(entry.size), 11), 124, &block);
  Put(Octal(InRange(absl::ToUnixSeconds(entry.modified)), 11), 136, &block);
  // Of the header with spaces in the sum's own place.
  Put("        ", 148, &block);
  block[156] = type;
  Put(std::string_view("ustar\0"
                       "00",
                       8),
      257, &block);
  std::int64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  Put(Octal(sum, 6), 148, &block);
  block[154] = '\0';
  *out += block;
}

void Pad(std::int64_t size, std::string* out) {
  const auto over = static_cast<std::size_t>(size) % kBlock;
  if (over > 0) out->append(kBlock - over, '\0');
}

// `LENGTH key=value\n`, the length being that of the whole line with its own digits.
std::string Record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (StrCat(length).size() + rest != length) ++length;
  return StrCat(length, " ", key, "=", value, "\n");
}

bool IsAscii(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c > 0; });
}

// The entry's header, and before it one of what has no place in it.
void AppendHeaders(ArchiveEntry entry, char type, std::string* out) {
  std::string name = ArchiveName(entry.name);
  if (type == kFolder) name += '/';
  entry.name = name;
  std::string records;
  if (name.size() > kNameBytes || !IsAscii(name)) records += Record("path", name);
  if (entry.size > kMaxOctal) records += Record("size", StrCat(entry.size));
  if (!records.empty()) {
    const ArchiveEntry extended{.name = "./PaxHeaders/entry",
                                .size = static_cast<std::int64_t>(records.size()),
                                .mode = 0644,
                                .modified = entry.modified};
    AppendHeader(extended, kExtended, out);
    *out += records;
    Pad(extended.size, out);
  }
  AppendHeader(entry, type, out);
}

}  // namespace

void TarWriter::BeginFile(const ArchiveEntry& entry, std::string* out) {
  AppendHeaders(entry, kRegular, out);
  added_ = 0;
}

void TarWriter::Add(std::string_view data, std::string* out) {
  *out += data;
  added_ += static_cast<std::int64_t>(data.size());
}

void TarWriter::EndFile(std::string* out) { Pad(added_, out); }

void TarWriter::AddFolder(const ArchiveEntry& entry, std::string* out) {
  ArchiveEntry folder = entry;
  folder.size = 0;
  folder.mode = 0755;
  AppendHeaders(folder, kFolder, out);
}

void TarWriter::Finish(std::string* out) { out->append(kEndBlocks * kBlock, '\0'); }

}  // namespace sandkeep
