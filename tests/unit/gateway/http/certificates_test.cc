// Real certificates, made here: every pair that can't be used is named with its remedy, and one
// that was fine stays in use.
#include "gateway/http/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/limits.h"
#include "tests/fakes/fake_clock.h"

namespace sandkeep::http {
namespace {

using testing::HasSubstr;

constexpr long kDay = 86400;

class CertificatesTest : public testing::Test {
 protected:
  CertificatesTest() {
    std::string name = testing::TempDir() + "certificates-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    key_ = ::EVP_EC_gen("P-256");
  }
  ~CertificatesTest() override {
    ::EVP_PKEY_free(key_);
    std::filesystem::remove_all(folder_);
  }

  TlsFiles files() const { return {folder_ + "/cert.pem", folder_ + "/key.pem"}; }

  // From and until, in days from now.
  void WriteCertificate(EVP_PKEY* key, long from, long until) const {
    X509* const certificate = ::X509_new();
    std::time_t now = absl::ToTimeT(clock_.Now());
    ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate), 1);
    ::X509_time_adj(::X509_getm_notBefore(certificate), from * kDay, &now);
    ::X509_time_adj(::X509_getm_notAfter(certificate), until * kDay, &now);
    ::X509_set_pubkey(certificate, key);
    ::X509_sign(certificate, key, ::EVP_sha256());
    std::FILE* const file = std::fopen(files().certificate.c_str(), "w");
    ::PEM_write_X509(file, certificate);
    std::fclose(file);
    ::X509_free(certificate);
  }
  void WriteKey(EVP_PKEY* key, const EVP_CIPHER* lock = nullptr) const {
    std::FILE* const file = std::fopen(files().key.c_str(), "w");
    char passphrase[] = "secret";
    ::PEM_write_PKCS8PrivateKey(file, key, lock, lock != nullptr ? passphrase : nullptr,
                                lock != nullptr ? 6 : 0, nullptr, nullptr);
    std::fclose(file);
  }
  void WriteGoodPair() const {
    WriteCertificate(key_, -1, 30);
    WriteKey(key_);
  }
  void Write(const std::string& path, std::string_view text) const { std::ofstream(path) << text; }
  std::string Refusal() const {
    const auto loaded = Certificates::Load(files(), clock_);
    return loaded.ok() ? "" : std::string(loaded.status().message());
  }

  FakeClock clock_;
  std::string folder_;
  EVP_PKEY* key_;
};

TEST_F(CertificatesTest, AGoodPairIsUsed) {
  WriteGoodPair();
  const auto loaded = Certificates::Load(files(), clock_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_NE((*loaded)->Current(), nullptr);
}

TEST_F(CertificatesTest, AKeyOfAnotherCertificateIsNamed) {
  EVP_PKEY* const other = ::EVP_EC_gen("P-256");
  WriteCertificate(key_, -1, 30);
  WriteKey(other);
  ::EVP_PKEY_free(other);
  EXPECT_THAT(Refusal(), HasSubstr("isn't the key of the first certificate"));
}

TEST_F(CertificatesTest, TheTimeOfACertificateIsNamed) {
  WriteGoodPair();
  WriteCertificate(key_, -30, -1);
  EXPECT_THAT(Refusal(), HasSubstr("is expired: renew it"));
  WriteCertificate(key_, 1, 30);
  EXPECT_THAT(Refusal(), HasSubstr("isn't valid yet: look at this machine's clock"));
}

TEST_F(CertificatesTest, FilesThatHoldNothingOfUseAreNamed) {
  EXPECT_THAT(Refusal(), HasSubstr("TLS_CERT: "));
  EXPECT_THAT(Refusal(), HasSubstr("the gateway's own user may read"));
  WriteGoodPair();
  Write(files().certificate, "no PEM");
  EXPECT_THAT(Refusal(), HasSubstr("holds no certificate in PEM"));
  WriteGoodPair();
  Write(files().key, "");
  EXPECT_THAT(Refusal(), HasSubstr("holds no private key in PEM"));
  Write(files().key, std::string(kMaxPemBytes + 1, 'x'));
  EXPECT_THAT(Refusal(), HasSubstr("larger than 1 MiB"));
  std::filesystem::remove(files().key);
  std::filesystem::create_directory(files().key);
  EXPECT_THAT(Refusal(), HasSubstr("TLS_KEY: "));
}

TEST_F(CertificatesTest, AKeyBehindAPassphraseIsNotAskedFor) {
  WriteGoodPair();
  WriteKey(key_, ::EVP_aes_256_cbc());
  EXPECT_THAT(Refusal(), HasSubstr("locked by a passphrase"));
}

TEST_F(CertificatesTest, AKeyThatIsTooShortIsNamed) {
  EVP_PKEY* const weak = ::EVP_RSA_gen(1024);
  WriteCertificate(weak, -1, 30);
  WriteKey(weak);
  ::EVP_PKEY_free(weak);
  EXPECT_THAT(Refusal(), HasSubstr("too weak"));
}

TEST_F(CertificatesTest, AChangedPairIsUsedAndABrokenOneIsNot) {
  WriteGoodPair();
  const auto loaded = Certificates::Load(files(), clock_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  Certificates& certificates = **loaded;
  const auto first = certificates.Current();
  certificates.Refresh();
  EXPECT_EQ(certificates.Current(), first);

  EVP_PKEY* const other = ::EVP_EC_gen("P-256");
  WriteKey(other);
  certificates.Refresh();
  EXPECT_EQ(certificates.Current(), first) << "only one of the two is renewed yet";
  WriteCertificate(other, -1, 60);
  certificates.Refresh();
  const auto second = certificates.Current();
  EXPECT_NE(second, first);
  ::EVP_PKEY_free(other);

  std::filesystem::remove(files().certificate);
  certificates.Refresh();
  EXPECT_EQ(certificates.Current(), second);
}

TEST_F(CertificatesTest, BothSidesOfALinkCanBeReadLater) {
  std::filesystem::create_directory(folder_ + "/live");
  WriteGoodPair();
  std::filesystem::create_symlink(files().certificate, folder_ + "/live/cert.pem");
  const auto loaded = Certificates::Load({folder_ + "/live/cert.pem", files().key}, clock_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT((*loaded)->Folders(), testing::IsSupersetOf({folder_ + "/live", folder_}));
}

}  // namespace
}  // namespace sandkeep::http
