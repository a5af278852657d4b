// A workspace as a malicious root would leave it, and the real sandkeep-files on it.
//
// The folders are made as root, with foreign uids' files among them; then the program becomes the
// agent's user, as whom the agent runs. main() is in test_volume.cc.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "agent/file_process/file_process.h"
#include "common/random.h"
#include "common/strings.h"
#include "tests/fakes/await.h"

namespace sandkeep {

struct TestVolumeFacts {
  std::filesystem::path base;  // `volume` and `outside` are in it.
  // Container root's id and another's, of the agent's subordinate range.
  uid_t foreign_root = 0;
  uid_t foreign_user = 0;
  bool has_device = true;
  std::string skip_reason = "nothing was prepared";
};

TestVolumeFacts& TestVolume();

// The real sandkeep-files on that volume.
class FileProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!TestVolume().skip_reason.empty()) GTEST_SKIP() << TestVolume().skip_reason;
    FileProcessOptions options;
    options.program = (TestVolume().base / "sandkeep-files").string();
    process_ = MakeFileProcess(runner_.executor(), options, [this](EngineName) {
      ++opened_volumes_;
      return OpenFolder(folder_);
    });
  }

  // The closing of the process runs on the runner.
  void TearDown() override { process_.reset(); }

  static Async<UniqueFd> OpenFolder(std::filesystem::path folder) {
    UniqueFd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd) co_return absl::NotFoundError("no such volume");
    co_return fd;
  }

  static RelPath Path(std::string_view text) { return *RelPath::Parse(text); }
  absl::StatusOr<OpenedFile> Open(std::string_view path) {
    return runner_.Await(process_->Open(volume_, Path(path)));
  }
  absl::StatusOr<FileEntry> Stat(std::string_view path) {
    return runner_.Await(process_->Stat(volume_, Path(path)));
  }

  static std::string ReadAll(const UniqueFd& file) {
    std::string text(4096, '\0');
    const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }
  std::string Contents(std::string_view path) {
    const auto opened = Open(path);
    return opened.ok() ? ReadAll(opened->file) : opened.status().ToString();
  }

  static pid_t FilesPid() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream stat(entry.path() / "stat");
      std::string pid, name, state, parent;
      stat >> pid >> name >> state >> parent;
      if (name == "(sandkeep-files)" && parent == StrCat(::getpid()) && state != "Z") {
        return static_cast<pid_t>(std::atoi(pid.c_str()));
      }
    }
    return 0;
  }

  AsyncRunner runner_;
  std::atomic<int> opened_volumes_ = 0;
  std::filesystem::path folder_ = TestVolume().base / "volume";
  EngineName volume_ = EngineName::Make(SystemRandom());
  std::unique_ptr<FileProcess> process_;
};

}  // namespace sandkeep
