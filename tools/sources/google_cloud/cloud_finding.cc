#include "tools/sources/google_cloud/cloud_finding.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::string_view kScope = "https://www.googleapis.com/auth/";
constexpr std::string_view kAnyScope = "cloud-platform";

bool Has(const std::vector<std::string>& scopes, std::string_view one) {
  return std::find(scopes.begin(), scopes.end(), Cat(kScope, one)) != scopes.end();
}

}  // namespace

CloudFinding GoodFinding(std::string what) {
  return {true, std::move(what), ""};
}

CloudFinding BadFinding(std::string_view what, const absl::Status& status) {
  const std::string message = Message(status);
  const std::size_t fix = message.rfind("; ");
  if (fix == std::string::npos) return {false, Cat(what, message), "resolve the error above"};
  return {false, Cat(what, message.substr(0, fix)), message.substr(fix + 2)};
}

std::vector<std::string> MissingScopes(const std::vector<std::string>& scopes,
                                       const std::vector<std::string>& needed, std::string_view whole) {
  std::vector<std::string> missing;
  for (const std::string& one : needed) {
    if (!Has(scopes, kAnyScope) && !Has(scopes, whole) && !Has(scopes, one)) missing.push_back(one);
  }
  return missing;
}

CloudFinding LackOfScopes(const std::vector<std::string>& missing) {
  return {false, Cat("access scopes: this machine lacks ", absl::StrJoin(missing, " and ")),
          "stop the machine, and gcloud compute instances set-service-account --scopes=cloud-platform"};
}

bool CheckCredentials(AccessToken& token, const std::vector<std::string>& needed, std::string_view whole,
                      std::string_view what, const TellFinding& tell) {
  if (const absl::Status status = token.Get().status(); !status.ok()) {
    tell(BadFinding("", status));
    return false;
  }
  tell(GoodFinding(Cat("credentials: ", token.WhoseName())));
  const absl::StatusOr<std::vector<std::string>> scopes = token.Scopes();
  if (!scopes.ok()) tell(BadFinding("access scopes: ", scopes.status()));
  if (!scopes.ok() || scopes->empty()) return true;
  const std::vector<std::string> missing = MissingScopes(*scopes, needed, whole);
  tell(missing.empty() ? GoodFinding(Cat("access scopes: ", what)) : LackOfScopes(missing));
  return true;
}

}  // namespace goodput
