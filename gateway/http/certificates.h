// The certificate and key that connections are encrypted with, as one TLS context: TLS 1.2 and
// newer, HTTP/1.1, no session kept. Both files are looked at every few seconds and read again when
// they changed; connections that are open keep what they began with. A pair that can't be used
// leaves the last one in its place, and the log names the reason once.
//
// Load before the process is confined (the folders of both must be readable after it); then
// Current from any thread, Refresh from one at a time.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"

namespace sandkeep::http {

struct TlsFiles {
  std::string certificate;  // TLS_CERT: the chain in PEM, the server's own first.
  std::string key;          // TLS_KEY

  bool empty() const { return certificate.empty() && key.empty(); }
};

class Certificates {
 public:
  using Context = boost::asio::ssl::context;

  // FailedPrecondition and others: what is wrong with which file, and what to do.
  static absl::StatusOr<std::unique_ptr<Certificates>> Load(TlsFiles files, const Clock& clock);

  std::shared_ptr<Context> Current() const;

  void Refresh();

  // Where the files are, and where links among them lead now.
  std::vector<std::string> Folders() const;

 private:
  // What tells that a file isn't the one that was read.
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Stamps {
    Stamp certificate;
    Stamp key;
    friend bool operator==(const Stamps&, const Stamps&) = default;
  };

  Certificates(TlsFiles files, const Clock& clock) : files_(std::move(files)), clock_(clock) {}

  static Stamp StampOf(const std::string& path);
  Stamps Look() const { return {StampOf(files_.certificate), StampOf(files_.key)}; }
  absl::StatusOr<std::shared_ptr<Context>> Read() const;

  const TlsFiles files_;
  const Clock& clock_;
  Stamps seen_;

  // Guards what stands below it.
  mutable std::mutex mutex_;
  std::shared_ptr<Context> current_;
};

}  // namespace sandkeep::http
