// What `sgoodput doctor` says about the access to a service.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tools/sources/google_cloud/access_token.h"

namespace goodput {

struct CloudFinding {
  bool good = false;
  std::string what;
  std::string fix;    // if it is not good
  bool tried = true;  // false: nothing could be tried
};

using TellFinding = std::function<void(const CloudFinding&)>;

CloudFinding GoodFinding(std::string what);
// `status`: an error whose message ends with what to do.
CloudFinding BadFinding(std::string_view what, const absl::Status& status);
// Which access scopes of `needed` are not among the machine's, any of which `whole` replaces.
std::vector<std::string> MissingScopes(const std::vector<std::string>& scopes,
                                       const std::vector<std::string>& needed, std::string_view whole);
CloudFinding LackOfScopes(const std::vector<std::string>& missing);

// Tells whether there is a token, and whether the machine has the access scopes `needed` for `what`. False:
// there is no token, so nothing else can be tried.
bool CheckCredentials(AccessToken& token, const std::vector<std::string>& needed, std::string_view whole,
                      std::string_view what, const TellFinding& tell);

}  // namespace goodput
