#include "tools/sources/google_cloud/check_log.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "spank/json_text.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr absl::Duration kLookedBack = absl::Hours(24 * 30);
constexpr std::string_view kAnyScope = "https://www.googleapis.com/auth/cloud-platform";
constexpr std::string_view kAdminScope = "https://www.googleapis.com/auth/logging.admin";

bool Has(const std::vector<std::string>& scopes, std::string_view one) {
  return std::find(scopes.begin(), scopes.end(), one) != scopes.end();
}

CloudFinding Good(std::string what) {
  return {true, std::move(what), ""};
}

// An error's message ends with what to do.
CloudFinding Bad(std::string_view what, const absl::Status& status) {
  const std::string message = Message(status);
  const std::size_t fix = message.rfind("; ");
  if (fix == std::string::npos) return {false, Cat(what, message), "resolve the error above"};
  return {false, Cat(what, message.substr(0, fix)), message.substr(fix + 2)};
}

CloudFinding CheckScopes(const std::vector<std::string>& scopes) {
  std::vector<std::string> missing;
  for (const char* one : {"logging.read", "logging.write"}) {
    const bool has = Has(scopes, kAnyScope) || Has(scopes, kAdminScope) ||
                     Has(scopes, Cat("https://www.googleapis.com/auth/", one));
    if (!has) missing.emplace_back(one);
  }
  if (missing.empty()) return Good("access scopes: reading and writing logs");
  return {false, Cat("access scopes: this machine lacks ", absl::StrJoin(missing, " and ")),
          "stop the machine, and gcloud compute instances set-service-account --scopes=cloud-platform"};
}

std::string TrialEntry(const LogName& log, absl::Time now) {
  return Cat("{\"logName\":", QuotedJson(log.Text()),
             ",\"resource\":{\"type\":\"global\",\"labels\":{\"project_id\":", QuotedJson(log.project),
             "}},\"dryRun\":true,\"entries\":[{\"timestamp\":\"", ServiceTime(now),
             R"(","severity":"INFO","insertId":"doctor","jsonPayload":{"job_name":"doctor"}}]})");
}

std::string TrialRead(const LogName& log, absl::Time now) {
  const std::string since = ServiceTime(now - kLookedBack);
  const std::string filter = Cat("logName=", QuotedJson(log.Text()), " AND timestamp>", QuotedJson(since));
  return Cat("{\"resourceNames\":[", QuotedJson(Cat("projects/", log.project)),
             "],\"filter\":", QuotedJson(filter), ",\"orderBy\":\"timestamp asc\",\"pageSize\":1}");
}

}  // namespace

bool CheckLog(LoggingService& service, const LogName& log, absl::Time now,
              const std::function<void(const CloudFinding&)>& tell) {
  bool good = true;
  const auto say = [&](const CloudFinding& finding) {
    good = good && finding.good;
    tell(finding);
  };
  AccessToken& token = service.token();
  if (const absl::Status status = token.Get().status(); !status.ok()) {
    say(Bad("", status));
    return false;
  }
  say(Good(Cat("credentials: ", token.WhoseName())));
  const absl::StatusOr<std::vector<std::string>> scopes = token.Scopes();
  if (!scopes.ok()) say(Bad("access scopes: ", scopes.status()));
  if (scopes.ok() && !scopes->empty()) say(CheckScopes(*scopes));
  const absl::StatusOr<std::string> read = service.List(TrialRead(log, now));
  if (!read.ok()) {
    say(Bad("", read.status()));
  } else if (absl::StrContains(*read, "\"insertId\"")) {
    say(Good(Cat("reading ", log.Text(), ": sgoodput import --cloud-log works")));
  } else {
    say(Good(Cat("reading ", log.Text(), ": allowed, but the log has no entries of the last 30 days")));
  }
  const absl::Status wrote = service.Write(TrialEntry(log, now)).status();
  say(wrote.ok()
          ? Good(Cat("writing ", log.Text(), ": sgoodput export --cloud-log works (nothing was written)"))
          : Bad("", wrote));
  return good;
}

}  // namespace goodput
