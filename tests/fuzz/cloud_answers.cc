// Fuzzes what answers as Cloud Logging, as the metadata server and as a key file: whatever they say, a call
// ends, what is read is lines of JSON, and what becomes a header or a message is one line.
#include <cstdint>
#include <optional>
#include <string>

#include "tests/fuzz/target.h"
#include "tools/sources/google_cloud/access_token.h"
#include "tools/sources/google_cloud/check_log.h"
#include "tools/sources/google_cloud/logging_service.h"
#include "tools/sources/google_cloud/read_entries.h"
#include "tools/sources/google_cloud/write_entries.h"
#include "tools/sources/google_cloud/write_series.h"

namespace {

using namespace goodput;

// Each call gets the same answer twice at most; then the service is away for good.
CloudWorld WorldOf(const std::string& body, int code, bool metadata_too, absl::Time& now) {
  CloudWorld world;
  world.now = [&now] { return now; };
  world.sleep = [&now](absl::Duration time) { now += time + absl::Seconds(1); };
  world.random = [] { return 0.9; };
  world.variable = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  world.read_file = [](const std::string&, std::size_t) { return absl::NotFoundError("none"); };
  world.send = [=, calls = 0](const HttpRequest& request) mutable {
    for (const std::string& header : request.headers)
      REQUIRE(header.find_first_of("\r\n") == std::string::npos);
    HttpAnswer answer;
    answer.headers["metadata-flavor"] = "Google";
    answer.code = code;
    answer.body = body;
    if (request.url.find("/computeMetadata/") != std::string::npos && !metadata_too) {
      answer.code = 200;
      answer.body = R"({"access_token":"t","expires_in":3599})";
    } else if (++calls > 2) {
      answer.code = 403;
    }
    return answer;
  };
  return world;
}

void RequireOneLine(const absl::Status& status) {
  REQUIRE(status.message().find('\n') == absl::string_view::npos);
}

}  // namespace

FUZZ_TARGET(cloud_answers) {
  if (size == 0) return 0;
  constexpr int kCodes[] = {200, 400, 401, 403, 404, 429, 500, 503};
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  absl::Time now = absl::FromUnixSeconds(1'790'000'000);
  const LogName log{"p", "l"};
  if (const auto key = ParseServiceAccountKey(body); key.ok()) REQUIRE(!key->email.empty());
  for (const bool metadata_too : {true, false}) {
    const CloudWorld world = WorldOf(body, kCodes[data[0] % 8], metadata_too, now);
    auto service = LoggingService::Connect(world);
    REQUIRE(service.ok());
    EntryReader reader(*service, {log, "j", now - absl::Hours(1), now});
    const auto report = reader.Read(
        [](std::string_view line) {
          REQUIRE(line.front() == '{' && line.find('\n') == line.size() - 1);
          return absl::OkStatus();
        },
        [](const ReadEntriesReport&, const std::string&) {});
    RequireOneLine(report.status());
    EntryWriter writer(*service, {log, {}, absl::Hours(24), now});
    writer.Take(R"({"job_name":"j","job_start_time":1790000000})").IgnoreError();
    writer.Take(body).IgnoreError();
    RequireOneLine(writer.Finish());
    REQUIRE(writer.report().written >= 0 && writer.report().written <= 2);
    CheckLog(*service, log, now,
             [](const CloudFinding& finding) { REQUIRE(finding.what.find('\n') == std::string::npos); });
    auto monitoring = MonitoringService::Connect(world);
    REQUIRE(monitoring.ok());
    SeriesWriter series(*monitoring, {"p", "z", now});
    series.Take(R"({"workload_id":"w","metric":{},"valueType":"INT64","value":{"int64Value":"1"}})")
        .IgnoreError();
    series.Take(body).IgnoreError();
    RequireOneLine(series.Finish());
    REQUIRE(series.report().written + series.report().refused <= series.report().taken);
    REQUIRE(series.report().why_refused.find('\n') == std::string::npos);
  }
  return 0;
}
