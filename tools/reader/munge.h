// Decodes MUNGE credentials with the machine's libmunge, which is loaded at run time and is optional.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace goodput {

// `socket`: where munged listens, empty where it does by default. Unavailable: there is no libmunge or
// munged.
absl::StatusOr<std::string> MakeCredential(const std::string& payload, const std::string& socket);

struct Credential {
  uid_t uid = 0;
  std::string payload;
};
// PermissionDenied: forged, too old, or decoded once already.
absl::StatusOr<Credential> ReadCredential(const std::string& credential, const std::string& socket);

// What a credential for this question says: it is of no use for another.
std::string CredentialPayload(const std::string& target);

}  // namespace goodput
