// Signatures and digests. The only user of OpenSSL's libcrypto.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace goodput {

// The signature of `text` by RS256 (RSASSA-PKCS1-v1_5 with SHA-256): raw bytes. `pem`: an RSA private key of
// at least 2048 bits without a passphrase. No error contains any of it.
absl::StatusOr<std::string> SignRs256(std::string_view pem, std::string_view text);

// 32 raw bytes.
std::string Sha256(std::string_view text);

}  // namespace goodput
