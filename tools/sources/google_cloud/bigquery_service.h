// Jobs of BigQuery (bigquery.googleapis.com, REST, version 2). CLOUDSDK_API_ENDPOINT_OVERRIDES_BIGQUERY names
// another endpoint: https://, or http:// on the loopback interface.
//
// A job has an id that the caller chooses, and runs once however often it is sent: the service answers 409
// to an id that it knows. So a call whose answer is lost is repeated without harm.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sources/google_cloud/access_token.h"
#include "tools/sources/google_cloud/cloud_world.h"

namespace goodput {

struct BigQueryDataset {
  std::string project;
  std::string dataset;
  std::string Text() const { return "projects/" + project + "/datasets/" + dataset; }
};

// From projects/PROJECT/datasets/DATASET.
absl::StatusOr<BigQueryDataset> ParseBigQueryDataset(const std::string& text);

class BigQueryService {
 public:
  static absl::StatusOr<BigQueryService> Connect(const CloudWorld& world, BigQueryDataset dataset);

  // Statements of GoogleSQL, whose tables are those of the dataset. Returns when they have run. Aborted:
  // other statements changed the same table meanwhile, and another job may succeed. Errors say what to do, as
  // those of ExplainRefusal.
  absl::Status RunScript(const std::string& job_id, const std::string& sql);
  // Appends `lines`, objects of JSON with a newline each, to a table that exists.
  absl::Status Load(const std::string& job_id, const std::string& table, const std::string& lines);

 private:
  struct Call {
    std::string method;  // for messages
    std::string url;
    std::string type;  // of the body
    std::string body;  // empty: GET
  };

  BigQueryService(const CloudWorld& world, std::string endpoint, BigQueryDataset dataset);
  absl::StatusOr<HttpAnswer> Send(const Call& call);
  // Repeats a call that may succeed later, for 10 minutes. The answer is 200 or 409.
  absl::StatusOr<HttpAnswer> SendUntilAnswered(const Call& call);
  // Where the dataset is; its jobs must be named with it.
  absl::Status FindLocation();
  std::string JobOf(const std::string& job_id, std::string_view configuration) const;
  absl::Status Run(const std::string& job_id, const Call& insert);

  const CloudWorld* world_;
  std::string endpoint_;
  BigQueryDataset dataset_;
  std::string location_;
  AccessToken token_;
  bool answered_ = false;
};

}  // namespace goodput
