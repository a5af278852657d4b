#include "gateway/http/certificates.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/limits.h"
#include "common/log.h"
#include "common/status_codes.h"
#include "common/status_macros.h"
#include "common/strings.h"
#include "common/unique_fd.h"

namespace sandkeep::http {
namespace {

namespace ssl = boost::asio::ssl;

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

// Forward secrecy and authenticated encryption, which TLS 1.3 has anyway.
constexpr char kCiphers12[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

absl::StatusOr<std::string> ReadFile(std::string_view setting, const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text(kMaxPemBytes + 1, '\0');
  const ssize_t bytes = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (bytes < 0) {
    const absl::Status why = ErrnoStatus(errno, StrCat(setting, ": ", path));
    return absl::Status(
        why.code(),
        StrCat(ToStd(why.message()), "; it must be a file that the gateway's own user may read"));
  }
  text.resize(static_cast<std::size_t>(bytes));
  if (text.size() > kMaxPemBytes) {
    return absl::InvalidArgumentError(StrCat(setting, ": ", path, " is larger than 1 MiB"));
  }
  return text;
}

Bio Reader(const std::string& text) {
  return Bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is there to be asked.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return 0;
}

absl::StatusOr<Key> ReadKey(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile("TLS_KEY", path));
  bool locked = false;
  Key key(::PEM_read_bio_PrivateKey(Reader(text).get(), nullptr, NoPassphrase, &locked));
  ::ERR_clear_error();
  if (locked) {
    return absl::FailedPreconditionError(
        StrCat("TLS_KEY: ", path,
               " is locked by a passphrase, which a service can't ask for; `openssl pkey` writes "
               "it without"));
  }
  if (key == nullptr) {
    return absl::InvalidArgumentError(StrCat("TLS_KEY: ", path, " holds no private key in PEM"));
  }
  return key;
}

// The server's own, then what leads from it to an authority.
absl::StatusOr<std::vector<Certificate>> ReadChain(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile("TLS_CERT", path));
  const Bio reader = Reader(text);
  std::vector<Certificate> chain;
  while (X509* const next = ::PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)) {
    chain.emplace_back(next);
  }
  ::ERR_clear_error();
  if (chain.empty()) {
    return absl::InvalidArgumentError(StrCat("TLS_CERT: ", path, " holds no certificate in PEM"));
  }
  return chain;
}

absl::Status CheckTime(const std::string& path, const X509& certificate, absl::Time now) {
  std::time_t at = absl::ToTimeT(now);
  if (::X509_cmp_time(::X509_get0_notAfter(&certificate), &at) <= 0) {
    return absl::FailedPreconditionError(
        StrCat("TLS_CERT: the certificate in ", path,
               " is expired: renew it, and see that the renewal writes to this place"));
  }
  if (::X509_cmp_time(::X509_get0_notBefore(&certificate), &at) > 0) {
    return absl::FailedPreconditionError(StrCat("TLS_CERT: the certificate in ", path,
                                                " isn't valid yet: look at this machine's clock"));
  }
  return absl::OkStatus();
}

int ChooseHttp1(SSL* /*connection*/, const unsigned char** chosen, unsigned char* chosen_bytes,
                const unsigned char* offered, unsigned offered_bytes, void* /*unused*/) {
  // What is chosen points into it.
  static constexpr unsigned char kHttp1[] = "\x08http/1.1";
  const int found = ::SSL_select_next_proto(const_cast<unsigned char**>(chosen), chosen_bytes,
                                            kHttp1, sizeof(kHttp1) - 1, offered, offered_bytes);
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

bool SetRules(SSL_CTX* context) {
  ::SSL_CTX_set_options(
      context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // A ticket is kept by the client; we keep nothing of anybody.
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_num_tickets(context, 1);
  ::SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_alpn_select_cb(context, ChooseHttp1, nullptr);
  return ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         ::SSL_CTX_set_cipher_list(context, kCiphers12) == 1;
}

bool Use(SSL_CTX* context, const std::vector<Certificate>& chain, const Key& key) {
  if (::SSL_CTX_use_certificate(context, chain.front().get()) != 1) return false;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) return false;
  }
  return ::SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Certificates>> Certificates::Load(TlsFiles files,
                                                                 const Clock& clock) {
  std::unique_ptr<Certificates> certificates(new Certificates(std::move(files), clock));
  certificates->seen_ = certificates->Look();
  ASSIGN_OR_RETURN(certificates->current_, certificates->Read());
  return certificates;
}

std::shared_ptr<Certificates::Context> Certificates::Current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

Certificates::Stamp Certificates::StampOf(const std::string& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return {};
  constexpr std::int64_t kNanos = 1'000'000'000;
  return {.inode = about.st_ino,
          .size = about.st_size,
          .changed_ns = about.st_mtim.tv_sec * kNanos + about.st_mtim.tv_nsec};
}

absl::StatusOr<std::shared_ptr<Certificates::Context>> Certificates::Read() const {
  ASSIGN_OR_RETURN(const std::vector<Certificate> chain, ReadChain(files_.certificate));
  ASSIGN_OR_RETURN(const Key key, ReadKey(files_.key));
  if (::X509_check_private_key(chain.front().get(), key.get()) != 1) {
    ::ERR_clear_error();
    return absl::FailedPreconditionError(
        StrCat("TLS_KEY: ", files_.key, " isn't the key of the first certificate in ",
               files_.certificate, ", which must be the server's own"));
  }
  RETURN_IF_ERROR(CheckTime(files_.certificate, *chain.front(), clock_.Now()));
  auto context = std::make_shared<Context>(ssl::context::tls_server);
  SSL_CTX* const handle = context->native_handle();
  if (!SetRules(handle) || !Use(handle, chain, key)) {
    ::ERR_clear_error();
    return absl::FailedPreconditionError(StrCat(
        "TLS_CERT: OpenSSL refuses ", files_.certificate,
        ": its key or signature is too weak; make a new one of 256 bits (EC) or 2048 (RSA)"));
  }
  return context;
}

void Certificates::Refresh() {
  // Before it is read: a change meanwhile is seen the next time.
  const Stamps now = Look();
  if (now == seen_) return;
  seen_ = now;
  absl::StatusOr<std::shared_ptr<Context>> fresh = Read();
  if (!fresh.ok()) {
    // Between its two writes a renewal looks like this, too.
    Log(Severity::kWarning, "tls.kept", {{"why", fresh.status()}});
    return;
  }
  Log(Severity::kInfo, "tls.renewed", {{"certificate", files_.certificate}});
  const std::lock_guard lock(mutex_);
  current_.swap(*fresh);
}

std::vector<std::string> Certificates::Folders() const {
  std::vector<std::string> folders;
  for (const std::string& path : {files_.certificate, files_.key}) {
    std::error_code ignored;
    const std::filesystem::path given = std::filesystem::absolute(path, ignored);
    folders.push_back(given.parent_path());
    folders.push_back(std::filesystem::canonical(given, ignored).parent_path());
  }
  return folders;
}

}  // namespace sandkeep::http
