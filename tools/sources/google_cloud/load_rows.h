// Replaces the rows of runs in a table of BigQuery.
//
// Rows go into a table of their own first, in load jobs, which cost nothing. One transaction then deletes the
// runs' older rows and inserts the new ones, so that a query sees all of a run or nothing of the change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sources/google_cloud/bigquery_service.h"

namespace goodput {

struct RowColumn {
  std::string name;
  std::string type;  // of GoogleSQL: INT64, STRING, ...
};

// From an array of JSON: [{"name": ..., "type": ...}, ...].
absl::StatusOr<std::vector<RowColumn>> ParseRowColumns(const std::string& json);

struct LoadRowsOptions {
  std::string table;
  // cluster, unit, attempt, month and rev are among them. A row whose `attempt` is null only removes its run.
  std::vector<RowColumn> columns;
  std::int64_t rev = 0;  // of all rows; rows with a higher one stay
};

struct LoadRowsReport {
  std::int64_t rows = 0;
};

class RowLoader {
 public:
  // `id`: of this load, unique; letters, digits and _.
  RowLoader(const CloudWorld& world, BigQueryService& service, LoadRowsOptions options, std::string id);

  // Creates the table, or the columns that it lacks, and the table for the new rows.
  absl::Status Begin();
  // One row: an object of JSON.
  absl::Status Take(std::string_view row);
  // Puts the rows in place.
  absl::Status Finish();
  const LoadRowsReport& report() const { return report_; }

 private:
  std::string Staging() const { return options_.table + "_load_" + id_; }
  std::string NextJob();
  absl::Status Send();

  const CloudWorld& world_;
  BigQueryService& service_;
  LoadRowsOptions options_;
  std::string id_;
  int jobs_ = 0;
  std::string lines_;
  LoadRowsReport report_;
};

}  // namespace goodput
