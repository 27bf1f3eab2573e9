#include "tools/sources/google_cloud/bigquery_service.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/sources/google_cloud/google_service.h"
#include "tools/sources/google_cloud/log_name.h"
#include "tools/sources/google_cloud/logging_service.h"

namespace goodput {
namespace {

constexpr const char* kEndpointOfBigQuery = "CLOUDSDK_API_ENDPOINT_OVERRIDES_BIGQUERY";
const GoogleService kBigQuery{"BigQuery", "bigquery.googleapis.com", "retried for 10 minutes",
                              "the quota of the project was used up for 10 minutes"};
const ServiceAccess kUsingBigQuery{"bigquery",
                                   "roles/bigquery.jobUser, and roles/bigquery.dataEditor in the dataset,"};

constexpr absl::Duration kGiveUpJobAfter = absl::Hours(1);
constexpr absl::Duration kGiveUpCallAfter = absl::Minutes(10);
constexpr absl::Duration kGiveUpUnreachableAfter = absl::Seconds(30);
constexpr absl::Duration kMostBetweenLooks = absl::Seconds(10);
constexpr absl::Duration kOneCall = absl::Minutes(5);
constexpr std::size_t kMostOfReason = 500;

constexpr int kSuccess = 200;
constexpr int kRefusedToken = 401;
constexpr int kForbidden = 403;
constexpr int kKnownJob = 409;

// The first reason of an error: "rateLimitExceeded".
std::string ReasonOf(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element parsed;
  simdjson::dom::array errors;
  if (parser.parse(body).get(parsed) != simdjson::SUCCESS ||
      parsed["error"]["errors"].get(errors) != simdjson::SUCCESS)
    return "";
  for (const simdjson::dom::element error : errors) {
    std::string_view reason;
    if (error["reason"].get(reason) == simdjson::SUCCESS) return std::string(reason);
  }
  return "";
}

bool MaySucceedLater(const HttpAnswer& answer) {
  if (answer.code == kForbidden) return ReasonOf(answer.body) == "rateLimitExceeded";
  return answer.code == 429 || (answer.code >= 500 && answer.code <= 504 && answer.code != 501);
}

// How a job stands: nothing while it runs; otherwise how it ended.
absl::StatusOr<bool> HasEnded(const std::string& body, const std::string& job_id) {
  simdjson::dom::parser parser;
  simdjson::dom::element job;
  std::string_view state;
  if (parser.parse(body).get(job) != simdjson::SUCCESS ||
      job["status"]["state"].get(state) != simdjson::SUCCESS)
    return absl::UnknownError(Cat("BigQuery, job ", job_id, ": the answer has no state"));
  if (state != "DONE") return false;
  std::string_view why;
  simdjson::dom::object error;
  if (job["status"]["errorResult"].get(error) != simdjson::SUCCESS) return true;
  if (error["message"].get(why) != simdjson::SUCCESS) why = "(no reason)";
  const std::string what = Cat("BigQuery, job ", job_id, ": ", Printable(std::string(why), kMostOfReason));
  return absl::StrContains(ToAbsl(why), "concurrent update") ? absl::AbortedError(what)
                                                             : absl::InvalidArgumentError(what);
}

}  // namespace

absl::StatusOr<BigQueryDataset> ParseBigQueryDataset(const std::string& text) {
  constexpr std::string_view kProjects = "projects/";
  constexpr std::string_view kDatasets = "/datasets/";
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const std::size_t between = text.find(kDatasets);
  if (text.rfind(kProjects, 0) == 0 && between != std::string::npos) {
    BigQueryDataset parsed{text.substr(kProjects.size(), between - kProjects.size()),
                           text.substr(between + kDatasets.size())};
    if (IsProject(parsed.project) && !parsed.dataset.empty() && parsed.dataset.size() <= 1024 &&
        parsed.dataset.find_first_not_of(kLetters) == std::string::npos)
      return parsed;
  }
  return absl::InvalidArgumentError(Cat("not the name of a dataset: ", Printable(text.substr(0, 200)),
                                        "; write projects/PROJECT/datasets/DATASET"));
}

BigQueryService::BigQueryService(const CloudWorld& world, std::string endpoint, BigQueryDataset dataset)
    : world_(&world),
      endpoint_(std::move(endpoint)),
      dataset_(std::move(dataset)),
      token_(world, AudienceOf(kBigQuery)) {}

absl::StatusOr<BigQueryService> BigQueryService::Connect(const CloudWorld& world, BigQueryDataset dataset) {
  ASSIGN_OR_RETURN(const std::string endpoint, EndpointOf(world, kBigQuery, kEndpointOfBigQuery));
  BigQueryService service(world, endpoint, std::move(dataset));
  RETURN_IF_ERROR(service.FindLocation());
  return service;
}

absl::StatusOr<HttpAnswer> BigQueryService::Send(const Call& call) {
  ASSIGN_OR_RETURN(const std::string token, token_.Get());
  HttpRequest request;
  request.url = Cat(endpoint_, call.url);
  request.headers = {Cat("Authorization: Bearer ", token)};
  if (!call.body.empty()) {
    request.body = call.body;
    request.headers.push_back(Cat("Content-Type: ", call.type));
  }
  request.connect_timeout = absl::Seconds(10);
  request.timeout = request.answer_timeout = kOneCall;
  request.max_bytes = std::size_t{4} << 20U;
  return world_->send(request);
}

absl::StatusOr<HttpAnswer> BigQueryService::SendUntilAnswered(const Call& call) {
  Retries retries;
  bool renewed = false;
  while (true) {
    ASSIGN_OR_RETURN(HttpAnswer answer, Send(call));
    if (absl::IsOutOfRange(answer.status)) return answer.status;
    if (answer.status.ok()) answered_ = true;
    if (answer.status.ok() && (answer.code == kSuccess || answer.code == kKnownJob)) return answer;
    if (answer.status.ok() && answer.code == kRefusedToken && !renewed) {
      renewed = true;
      token_.Forget();
      continue;
    }
    const auto explain = [&] {
      return ExplainRefusal(kBigQuery, kUsingBigQuery, call.method, answer, token_.WhoseName());
    };
    if (answer.status.ok() && !MaySucceedLater(answer)) return explain();
    const absl::Duration wait =
        retries.Next(world_->now(), world_->random(), answered_ ? kGiveUpCallAfter : kGiveUpUnreachableAfter);
    if (wait == absl::InfiniteDuration()) {
      if (answer.status.ok()) return explain();
      return absl::UnavailableError(Cat(endpoint_, " cannot be reached: ", Message(answer.status)));
    }
    world_->sleep(wait);
  }
}

absl::Status BigQueryService::FindLocation() {
  const absl::StatusOr<HttpAnswer> answer = SendUntilAnswered(
      {"datasets.get", Cat("/bigquery/v2/projects/", dataset_.project, "/datasets/", dataset_.dataset), "",
       ""});
  if (absl::IsNotFound(answer.status()))
    return absl::NotFoundError(Cat("BigQuery has no ", dataset_.Text(),
                                   "; create it with: bq mk --location=US ", dataset_.project, ":",
                                   dataset_.dataset));
  RETURN_IF_ERROR(answer.status());
  simdjson::dom::parser parser;
  simdjson::dom::element dataset;
  std::string_view location;
  if (parser.parse(answer->body).get(dataset) != simdjson::SUCCESS ||
      dataset["location"].get(location) != simdjson::SUCCESS)
    return absl::UnknownError("BigQuery, datasets.get: the answer has no location");
  location_ = location;
  return absl::OkStatus();
}

std::string BigQueryService::JobOf(const std::string& job_id, std::string_view configuration) const {
  return Cat("{\"jobReference\":{\"projectId\":", QuotedJson(dataset_.project),
             ",\"jobId\":", QuotedJson(job_id), ",\"location\":", QuotedJson(location_),
             "},\"configuration\":", configuration, "}");
}

absl::Status BigQueryService::Run(const std::string& job_id, const Call& insert) {
  const absl::Time began = world_->now();
  ASSIGN_OR_RETURN(HttpAnswer answer, SendUntilAnswered(insert));
  const Call look{"jobs.get",
                  Cat("/bigquery/v2/projects/", dataset_.project, "/jobs/", job_id, "?location=", location_),
                  "", ""};
  absl::Duration wait = absl::Milliseconds(200);
  while (true) {
    // An id that is known is that of an earlier try, whose answer was lost.
    if (answer.code != kKnownJob) {
      ASSIGN_OR_RETURN(const bool ended, HasEnded(answer.body, job_id));
      if (ended) return absl::OkStatus();
      if (world_->now() - began > kGiveUpJobAfter)
        return absl::DeadlineExceededError(
            Cat("BigQuery, job ", job_id, ": still running after an hour; see it with bq show -j"));
      world_->sleep(wait);
      wait = std::min(wait * 2, kMostBetweenLooks);
    }
    ASSIGN_OR_RETURN(answer, SendUntilAnswered(look));
    if (answer.code == kKnownJob) return absl::UnknownError("BigQuery, jobs.get: 409");
  }
}

absl::Status BigQueryService::RunScript(const std::string& job_id, const std::string& sql) {
  const std::string job = JobOf(
      job_id, Cat("{\"query\":{\"query\":", QuotedJson(sql),
                  ",\"useLegacySql\":false,\"defaultDataset\":{\"projectId\":", QuotedJson(dataset_.project),
                  ",\"datasetId\":", QuotedJson(dataset_.dataset), "}}}"));
  return Run(job_id, {"jobs.insert", Cat("/bigquery/v2/projects/", dataset_.project, "/jobs"),
                      "application/json", job});
}

absl::Status BigQueryService::Load(const std::string& job_id, const std::string& table,
                                   const std::string& lines) {
  constexpr const char* kBoundary = "slurm-goodput-rows-of-runs";
  const std::string job = JobOf(
      job_id, Cat("{\"load\":{\"destinationTable\":{\"projectId\":", QuotedJson(dataset_.project),
                  ",\"datasetId\":", QuotedJson(dataset_.dataset), ",\"tableId\":", QuotedJson(table),
                  "},\"sourceFormat\":\"NEWLINE_DELIMITED_JSON\",\"createDisposition\":\"CREATE_NEVER\","
                  "\"writeDisposition\":\"WRITE_APPEND\"}}"));
  // JSON has no line that begins with the boundary.
  const std::string body = Cat("--", kBoundary, "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n",
                               job, "\r\n--", kBoundary, "\r\nContent-Type: application/octet-stream\r\n\r\n",
                               lines, "\r\n--", kBoundary, "--\r\n");
  return Run(job_id, {"jobs.insert",
                      Cat("/upload/bigquery/v2/projects/", dataset_.project, "/jobs?uploadType=multipart"),
                      Cat("multipart/related; boundary=", kBoundary), body});
}

}  // namespace goodput
