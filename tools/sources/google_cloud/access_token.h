// The token that Google's services ask for: of the service account of this machine, by the metadata server,
// or of a service-account key in the file that GOOGLE_APPLICATION_CREDENTIALS names. A key signs a token
// itself (AIP-4111), so no other service is asked. GCE_METADATA_HOST names another metadata server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/sources/google_cloud/cloud_world.h"

namespace goodput {

struct ServiceAccountKey {
  std::string email;
  std::string key_id;
  std::string private_key;  // PEM
};

// InvalidArgument: `json` is not a service-account key, and what to use instead. No error contains any of the
// key.
absl::StatusOr<ServiceAccountKey> ParseServiceAccountKey(const std::string& json);

// A JSON Web Token for `audience`, which the service takes as a bearer token, valid for an hour from `now`.
absl::StatusOr<std::string> SignedToken(const ServiceAccountKey& key, std::string_view audience,
                                        absl::Time now);

class AccessToken {
 public:
  // `audience`: the service for which a key signs, for example https://logging.googleapis.com/
  AccessToken(const CloudWorld& world, std::string audience)
      : world_(world), audience_(std::move(audience)) {}

  // A token that is valid for some minutes; it is kept and renewed in time. Unauthenticated: there is none,
  // and what to do.
  absl::StatusOr<std::string> Get();
  // The service has refused it.
  void Forget() { token_.clear(); }
  // For messages: "the service account key FILE" or "the service account of this machine".
  std::string WhoseName() const;
  // The scopes of this machine's service account; empty for a key, which is bound to roles only.
  absl::StatusOr<std::vector<std::string>> Scopes();

 private:
  absl::Status Renew();
  absl::Status SignOne(const std::string& file);
  absl::StatusOr<std::string> AskMetadata(std::string_view what);

  const CloudWorld& world_;
  std::string audience_;
  std::string token_;
  absl::Time renew_at_;
};

}  // namespace goodput
