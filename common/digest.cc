#include "common/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdlib>

namespace sandkeep {
namespace {

constexpr std::size_t kSha256Bytes = 32;

// Found once: to look for it takes as long as to hash a key.
const EVP_MD* Sha256Method() {
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return method;
}

const unsigned char* Raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string Sha256(std::string_view data) {
  std::string digest(kSha256Bytes, '\0');
  unsigned int size = 0;
  if (EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
                 Sha256Method(), nullptr) != 1) {
    std::abort();
  }
  return digest;
}

std::string HmacSha256(std::string_view key, std::string_view data) {
  std::string digest(kSha256Bytes, '\0');
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Raw(data), data.size(),
           reinterpret_cast<unsigned char*>(digest.data()), &size) == nullptr) {
    std::abort();
  }
  return digest;
}

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace sandkeep
