#include "tools/sources/google_cloud/signature.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstddef>
#include <memory>

namespace goodput {
namespace {

constexpr int kFewestBits = 2048;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// A key with a passphrase is refused: otherwise OpenSSL would ask for it on the terminal.
int NoPassphrase(char* /*into*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

}  // namespace

absl::StatusOr<std::string> SignRs256(std::string_view pem, std::string_view text) {
  const std::unique_ptr<BIO, Free> source(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const std::unique_ptr<EVP_PKEY, Free> key(
      source == nullptr ? nullptr : PEM_read_bio_PrivateKey(source.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA)
    return absl::InvalidArgumentError("private_key is not an RSA key in PEM without a passphrase");
  if (EVP_PKEY_bits(key.get()) < kFewestBits)
    return absl::InvalidArgumentError("private_key has less than 2048 bits");
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t length = 0;
  bool good = context != nullptr &&
              EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
              EVP_DigestSign(context.get(), nullptr, &length, bytes, text.size()) == 1;
  std::string signature(length, '\0');
  good = good && EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length,
                                bytes, text.size()) == 1;
  if (!good) return absl::InternalError("OpenSSL cannot sign with private_key");
  signature.resize(length);
  return signature;
}

std::string Sha256(std::string_view text) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int length = 0;
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), &length, EVP_sha256(),
             nullptr);
  digest.resize(length);
  return digest;
}

}  // namespace goodput
