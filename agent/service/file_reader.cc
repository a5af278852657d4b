#include "agent/service/file_reader.h"

#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "common/limits.h"
#include "common/pending.h"
#include "common/status_codes.h"

namespace sandkeep {
namespace {

absl::StatusOr<std::string> ReadRange(int fd, std::int64_t offset, std::size_t size) {
  std::string data(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(fd, data.data() + done, size - done, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read");
    if (got == 0) return absl::DataLossError("the file shrank while it was read");
    done += static_cast<std::size_t>(got);
  }
  return data;
}

}  // namespace

FileReader::FileReader() : threads_(kFileReadThreads) {}

FileReader::~FileReader() { threads_.join(); }

Async<std::string> FileReader::Read(std::shared_ptr<const UniqueFd> file, std::int64_t offset,
                                    std::size_t size) {
  const auto done = std::make_shared<Pending<absl::StatusOr<std::string>>>();
  // The descriptor stays open until the read is over, whoever has left meanwhile.
  auto read = [done, file = std::move(file), offset, size] {
    done->Deliver(ReadRange(file->get(), offset, size));
  };
  boost::asio::post(threads_, std::move(read));
  auto waiting = done->Take(absl::CancelledError("cancelled"));
  co_return co_await std::move(waiting);
}

}  // namespace sandkeep
