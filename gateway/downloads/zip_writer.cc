#include "gateway/downloads/zip_writer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sandkeep {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50;
constexpr std::uint32_t kDescriptor = 0x08074b50;
constexpr std::uint32_t kDirectory = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint16_t kNeeds = 20;    // Version 2.0
constexpr std::uint16_t kNeeds64 = 45;  // 4.5
constexpr std::uint16_t kUnix = 3 << 8;
// Sizes follow the data; the name is UTF-8.
constexpr std::uint16_t kStreamed = 1 << 3 | 1 << 11;
constexpr std::uint16_t kNamed = 1 << 11;
constexpr std::uint32_t kElsewhere32 = 0xFFFFFFFF;
constexpr std::uint16_t kElsewhere16 = 0xFFFF;
// Above this the packed form might not fit four bytes: packing what can't be packed adds a little.
constexpr std::int64_t kLarge = 0xF0000000;
constexpr std::uint32_t kRegular = 0100000;
constexpr std::uint32_t kFolder = 0040755;
// Speed counts: much of what people pack is packed already.
constexpr int kLevel = 1;
constexpr std::size_t kOutBytes = 1 << 14;

template <typename Number>
void Put(Number value, std::string* out) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    out->push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * i & 0xFF));
  }
}
void Put16(std::uint64_t value, std::string* out) { Put(static_cast<std::uint16_t>(value), out); }
void Put32(std::uint64_t value, std::string* out) { Put(static_cast<std::uint32_t>(value), out); }
void Put64(std::int64_t value, std::string* out) { Put(static_cast<std::uint64_t>(value), out); }

std::uint64_t Or32(std::int64_t value) {
  return std::min<std::uint64_t>(static_cast<std::uint64_t>(value), kElsewhere32);
}

// MS-DOS has no years before 1980 nor after 2107, and no odd seconds.
std::uint32_t DosTime(absl::Time time) {
  const absl::CivilSecond civil = absl::ToCivilSecond(time, absl::UTCTimeZone());
  if (civil.year() < 1980 || civil.year() > 2107) return 1 << 21 | 1 << 16;
  const auto date =
      static_cast<std::uint32_t>((civil.year() - 1980) << 9 | civil.month() << 5 | civil.day());
  const auto clock =
      static_cast<std::uint32_t>(civil.hour() << 11 | civil.minute() << 5 | civil.second() / 2);
  return date << 16 | clock;
}

}  // namespace

void ZipWriter::EndDeflate::operator()(z_stream* stream) const {
  ::deflateEnd(stream);
  delete stream;
}

ZipWriter::ZipWriter() {
  auto stream = std::make_unique<z_stream>();
  *stream = {};
  // Without a header of its own. Fails only without memory.
  if (::deflateInit2(stream.get(), kLevel, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK) {
    stream_.reset(stream.release());
  }
}

void ZipWriter::Begin(Entry entry, std::string* out) {
  const std::size_t before = out->size();
  entry.offset = sent_;
  const bool streamed = entry.method == kDeflated;
  Put32(kLocal, out);
  Put16(entry.large ? kNeeds64 : kNeeds, out);
  Put16(streamed ? kStreamed : kNamed, out);
  Put16(entry.method, out);
  Put32(entry.dos_time, out);
  Put32(0, out);
  Put32(entry.large ? kElsewhere32 : 0, out);
  Put32(entry.large ? kElsewhere32 : 0, out);
  Put16(entry.name.size(), out);
  Put16(entry.large ? 20 : 0, out);
  *out += entry.name;
  if (entry.large) {
    Put16(1, out);
    Put16(16, out);
    Put64(0, out);
    Put64(0, out);
  }
  sent_ += static_cast<std::int64_t>(out->size() - before);
  entries_.push_back(std::move(entry));
}

void ZipWriter::BeginFile(const ArchiveEntry& file, std::string* out) {
  Entry entry;
  entry.name = ArchiveName(file.name);
  entry.method = kDeflated;
  entry.dos_time = DosTime(file.modified);
  entry.mode = kRegular | (file.mode & 0777);
  entry.crc = static_cast<std::uint32_t>(::crc32(0, nullptr, 0));
  entry.large = file.size >= kLarge;
  Begin(std::move(entry), out);
  if (stream_ != nullptr) ::deflateReset(stream_.get());
}

void ZipWriter::AddFolder(const ArchiveEntry& folder, std::string* out) {
  Entry entry;
  entry.name = ArchiveName(folder.name) + "/";
  entry.method = kStored;
  entry.dos_time = DosTime(folder.modified);
  entry.mode = kFolder;
  Begin(std::move(entry), out);
}

void ZipWriter::Deflate(std::string_view data, int flush, std::string* out) {
  if (stream_ == nullptr) return;
  Entry& entry = entries_.back();
  // zlib takes what it doesn't write to without const.
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream_->avail_in = static_cast<uInt>(data.size());
  std::array<Bytef, kOutBytes> buffer;
  do {
    stream_->next_out = buffer.data();
    stream_->avail_out = buffer.size();
    ::deflate(stream_.get(), flush);
    const std::size_t made = buffer.size() - stream_->avail_out;
    out->append(reinterpret_cast<const char*>(buffer.data()), made);
    entry.packed += static_cast<std::int64_t>(made);
    sent_ += static_cast<std::int64_t>(made);
  } while (stream_->avail_out == 0);
}

void ZipWriter::Add(std::string_view data, std::string* out) {
  Entry& entry = entries_.back();
  entry.crc = static_cast<std::uint32_t>(::crc32(
      entry.crc, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
  entry.size += static_cast<std::int64_t>(data.size());
  Deflate(data, Z_NO_FLUSH, out);
}

void ZipWriter::EndFile(std::string* out) {
  Deflate({}, Z_FINISH, out);
  const Entry& entry = entries_.back();
  const std::size_t before = out->size();
  Put32(kDescriptor, out);
  Put32(entry.crc, out);
  if (entry.large) {
    Put64(entry.packed, out);
    Put64(entry.size, out);
  } else {
    Put32(static_cast<std::uint64_t>(entry.packed), out);
    Put32(static_cast<std::uint64_t>(entry.size), out);
  }
  sent_ += static_cast<std::int64_t>(out->size() - before);
}

void ZipWriter::AppendDirectory(const Entry& entry, std::string* out) const {
  const bool far = entry.offset >= static_cast<std::int64_t>(kElsewhere32);
  const bool wide = entry.large || far;
  Put32(kDirectory, out);
  Put16(kUnix | (wide ? kNeeds64 : kNeeds), out);
  Put16(wide ? kNeeds64 : kNeeds, out);
  Put16(entry.method == kDeflated ? kStreamed : kNamed, out);
  Put16(entry.method, out);
  Put32(entry.dos_time, out);
  Put32(entry.crc, out);
  Put32(wide ? kElsewhere32 : static_cast<std::uint64_t>(entry.packed), out);
  Put32(wide ? kElsewhere32 : static_cast<std::uint64_t>(entry.size), out);
  Put16(entry.name.size(), out);
  Put16(wide ? 28 : 0, out);
  Put16(0, out);  // Comment
  Put16(0, out);  // Disk
  Put16(0, out);  // Text or not
  Put32(static_cast<std::uint64_t>(entry.mode) << 16, out);
  Put32(wide ? kElsewhere32 : static_cast<std::uint64_t>(entry.offset), out);
  *out += entry.name;
  if (!wide) return;
  Put16(1, out);
  Put16(24, out);
  Put64(entry.size, out);
  Put64(entry.packed, out);
  Put64(entry.offset, out);
}

void ZipWriter::Finish(std::string* out) {
  const std::int64_t begin = sent_;
  std::string directory;
  for (const Entry& entry : entries_) AppendDirectory(entry, &directory);
  const auto size = static_cast<std::int64_t>(directory.size());
  const auto count = static_cast<std::int64_t>(entries_.size());
  *out += directory;
  const bool wide =
      count >= kElsewhere16 || begin + size >= static_cast<std::int64_t>(kElsewhere32);
  if (wide) {
    Put32(kEnd64, out);
    Put64(44, out);
    Put16(kUnix | kNeeds64, out);
    Put16(kNeeds64, out);
    Put32(0, out);
    Put32(0, out);
    Put64(count, out);
    Put64(count, out);
    Put64(size, out);
    Put64(begin, out);
    Put32(kLocator64, out);
    Put32(0, out);
    Put64(begin + size, out);
    Put32(1, out);
  }
  Put32(kEnd, out);
  Put16(0, out);
  Put16(0, out);
  Put16(std::min<std::int64_t>(count, kElsewhere16), out);
  Put16(std::min<std::int64_t>(count, kElsewhere16), out);
  Put32(Or32(size), out);
  Put32(Or32(begin), out);
  Put16(0, out);
}

}  // namespace sandkeep
