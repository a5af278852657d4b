// A file whose descriptor the agent handed over. It is believed only after a look: read-only, a
// regular file, and the very content that the agent named. One coroutine's.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "gateway/downloads/file_source.h"

namespace sandkeep {

class DescribedFile : public FileSource {
 public:
  // `door` outlives it; `threads` may wait for the disk. Aborted: it is another by now;
  // Unimplemented: it is none that could be sent.
  static absl::StatusOr<std::unique_ptr<FileSource>> Make(DescriptorDoor& door,
                                                          boost::asio::any_io_executor threads,
                                                          agent::v1::OpenFileResponse opened,
                                                          UniqueFd file);
  ~DescribedFile() override { door_.Done(opened_.ticket()); }

  const agent::v1::FileInfo& info() const override { return opened_.info(); }
  Async<void> Send(http::Exchange& exchange, http::Response head, std::int64_t offset,
                   std::int64_t length) override;

 private:
  DescribedFile(DescriptorDoor& door, boost::asio::any_io_executor threads,
                agent::v1::OpenFileResponse opened, UniqueFd file)
      : door_(door),
        threads_(std::move(threads)),
        opened_(std::move(opened)),
        file_(std::make_shared<const UniqueFd>(std::move(file))) {}

  absl::Status Check() const;

  DescriptorDoor& door_;
  const boost::asio::any_io_executor threads_;
  const agent::v1::OpenFileResponse opened_;
  const std::shared_ptr<const UniqueFd> file_;
};

}  // namespace sandkeep
