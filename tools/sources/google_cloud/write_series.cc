#include "tools/sources/google_cloud/write_series.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/sources/google_cloud/error_details.h"
#include "tools/sources/google_cloud/logging_service.h"

namespace goodput {
namespace {

constexpr std::size_t kMostReason = 200;

struct RefusedPoints {
  std::int64_t count = 0;
  std::string why;
};

// Of a CreateTimeSeriesSummary. Points without an error of their own are refused, too, if they do not count
// as successful.
RefusedPoints ReadRefused(const std::string& body) {
  RefusedPoints refused;
  simdjson::dom::parser parser;
  for (const simdjson::dom::element& detail : ErrorDetails(parser, body)) {
    std::int64_t total = 0;
    if (detail["totalPointCount"].get(total) != simdjson::SUCCESS) continue;
    std::int64_t written = 0;  // absent: none
    if (detail["successPointCount"].get(written) != simdjson::SUCCESS) written = 0;
    refused.count = total <= 0 ? 0 : total - std::clamp<std::int64_t>(written, 0, total);
    simdjson::dom::array errors;
    if (detail["errors"].get(errors) != simdjson::SUCCESS) continue;
    for (const simdjson::dom::element error : errors) {
      std::string_view why;
      if (refused.why.empty() && error["status"]["message"].get(why) == simdjson::SUCCESS) refused.why = why;
    }
  }
  return refused;
}

// The other requests may be taken although this one was not.
bool ConcernsOneRequest(const absl::Status& status) {
  return absl::IsInvalidArgument(status);
}

}  // namespace

absl::Status SeriesWriter::Take(std::string_view line) {
  simdjson::dom::parser parser;
  simdjson::dom::element series;
  std::string_view workload;
  std::string_view type;
  simdjson::dom::object metric;
  simdjson::dom::object value;
  if (parser.parse(line.data(), line.size()).get(series) != simdjson::SUCCESS ||
      series["workload_id"].get(workload) != simdjson::SUCCESS ||
      series["metric"].get(metric) != simdjson::SUCCESS ||
      series["valueType"].get(type) != simdjson::SUCCESS || series["value"].get(value) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("not a time series");
  body_ += Cat(series_ == 0 ? "{\"timeSeries\":[" : ",", "{\"metric\":", simdjson::minify(metric),
               ",\"resource\":{\"type\":\"compute.googleapis.com/Workload\",\"labels\":{\"location\":",
               QuotedJson(options_.location), ",\"workload_id\":", QuotedJson(workload),
               R"(,"replica_id":"0"}},"metricKind":"GAUGE","valueType":)", QuotedJson(type),
               R"(,"points":[{"interval":{"endTime":")", ServiceTime(options_.now),
               "\"},\"value\":", simdjson::minify(value), "}]}");
  ++report_.taken;
  return ++series_ < kMostSeries ? absl::OkStatus() : Send();
}

absl::Status SeriesWriter::Finish() {
  if (series_ > 0) RETURN_IF_ERROR(Send());
  return failed_;
}

absl::Status SeriesWriter::Send() {
  body_ += "]}";
  absl::Status status = service_.Create(options_.project, body_);
  const std::int64_t sent = series_;
  body_.clear();
  series_ = 0;
  if (status.ok()) {
    report_.written += sent;
    return status;
  }
  if (const absl::optional<absl::Cord> payload =
          status.GetPayload(ToAbsl(MonitoringService::kRefusedPoints))) {
    const RefusedPoints refused = ReadRefused(std::string(*payload));
    report_.refused += std::min(refused.count, sent);
    report_.written += sent - std::min(refused.count, sent);
    if (report_.why_refused.empty()) report_.why_refused = Printable(refused.why, kMostReason);
    return absl::OkStatus();
  }
  if (!ConcernsOneRequest(status)) return status;
  if (failed_.ok()) failed_ = std::move(status);
  return absl::OkStatus();
}

}  // namespace goodput
