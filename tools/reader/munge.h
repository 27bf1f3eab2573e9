// Decodes MUNGE credentials with the machine's libmunge, which is loaded at run time and is optional.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace goodput {

// `socket`: of munged; empty: the default. Unavailable: there is no libmunge or munged.
absl::StatusOr<std::string> MakeCredential(const std::string& payload, const std::string& socket);

struct Credential {
  uid_t uid = 0;
  std::string payload;
};
// PermissionDenied: forged, expired, or already decoded once.
absl::StatusOr<Credential> ReadCredential(const std::string& credential, const std::string& socket);

// The payload of a credential for this request, which makes it useless for any other.
std::string CredentialPayload(const std::string& target);

}  // namespace goodput
