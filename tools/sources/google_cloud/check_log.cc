#include "tools/sources/google_cloud/check_log.h"

#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "spank/json_text.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr absl::Duration kLookedBack = absl::Hours(24 * 30);

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

bool CheckLog(LoggingService& service, const LogName& log, absl::Time now, const TellFinding& tell) {
  bool good = true;
  const auto say = [&](const CloudFinding& finding) {
    good = good && finding.good;
    tell(finding);
  };
  if (!CheckCredentials(service.token(), {"logging.read", "logging.write"}, "logging.admin",
                        "reading and writing logs", say))
    return false;
  const absl::StatusOr<std::string> read = service.List(TrialRead(log, now));
  if (!read.ok()) {
    say(BadFinding("", read.status()));
  } else if (absl::StrContains(*read, "\"insertId\"")) {
    say(GoodFinding(Cat("reading ", log.Text(), ": sgoodput import --cloud-log works")));
  } else {
    say(GoodFinding(
        Cat("reading ", log.Text(), ": allowed, but the log has no entries of the last 30 days")));
  }
  const absl::Status wrote = service.Write(TrialEntry(log, now)).status();
  say(wrote.ok() ? GoodFinding(Cat("writing ", log.Text(),
                                   ": sgoodput export --cloud-log works (nothing was written)"))
                 : BadFinding("", wrote));
  return good;
}

}  // namespace goodput
