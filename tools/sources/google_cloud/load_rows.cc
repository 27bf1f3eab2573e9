#include "tools/sources/google_cloud/load_rows.h"

#include <simdjson.h>

#include <utility>

#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Far below what a multipart upload may have.
constexpr std::size_t kMostLoaded = std::size_t{4} << 20U;
constexpr int kMostTransactions = 8;
constexpr absl::Duration kBetweenTransactions = absl::Seconds(4);

// GoogleSQL has a keyword PARTITION.
std::string QuotedName(const std::string& name) {
  return Cat("`", name, "`");
}

std::string Definitions(const std::vector<RowColumn>& columns, const char* before) {
  return absl::StrJoin(columns, ", ", [before](std::string* out, const RowColumn& column) {
    *out += Cat(before, QuotedName(column.name), " ", column.type);
  });
}

std::string Names(const std::vector<RowColumn>& columns) {
  return absl::StrJoin(columns, ", ",
                       [](std::string* out, const RowColumn& column) { *out += QuotedName(column.name); });
}

}  // namespace

absl::StatusOr<std::vector<RowColumn>> ParseRowColumns(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::array columns;
  std::vector<RowColumn> parsed;
  if (parser.parse(json).get(columns) != simdjson::SUCCESS)
    return absl::InvalidArgumentError("the first line has no columns");
  for (const simdjson::dom::element column : columns) {
    std::string_view name;
    std::string_view type;
    if (column["name"].get(name) != simdjson::SUCCESS || column["type"].get(type) != simdjson::SUCCESS)
      return absl::InvalidArgumentError("a column has no name or type");
    parsed.push_back({std::string(name), std::string(type)});
  }
  return parsed;
}

RowLoader::RowLoader(const CloudWorld& world, BigQueryService& service, LoadRowsOptions options,
                     std::string id)
    : world_(world), service_(service), options_(std::move(options)), id_(std::move(id)) {}

std::string RowLoader::NextJob() {
  return Cat("goodput_", id_, "_", ++jobs_);
}

absl::Status RowLoader::Begin() {
  const std::string& table = options_.table;
  return service_.RunScript(
      NextJob(),
      Cat("CREATE TABLE IF NOT EXISTS ", table, " (", Definitions(options_.columns, ""),
          ") PARTITION BY DATE_TRUNC(month, MONTH) CLUSTER BY cluster, account;\nALTER TABLE ", table, " ",
          Definitions(options_.columns, "ADD COLUMN IF NOT EXISTS "), ";\nCREATE TABLE ", Staging(), " (",
          Definitions(options_.columns, ""),
          ") OPTIONS (expiration_timestamp = TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL 1 DAY));"));
}

absl::Status RowLoader::Take(std::string_view row) {
  lines_ += Cat(row, "\n");
  ++report_.rows;
  return lines_.size() < kMostLoaded ? absl::OkStatus() : Send();
}

absl::Status RowLoader::Send() {
  if (lines_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(service_.Load(NextJob(), Staging(), lines_));
  lines_.clear();
  return absl::OkStatus();
}

absl::Status RowLoader::Finish() {
  RETURN_IF_ERROR(Send());
  const std::string& table = options_.table;
  const std::string names = Names(options_.columns);
  const std::string sql = Cat("BEGIN TRANSACTION;\nDELETE FROM ", table, " t WHERE t.rev <= ", options_.rev,
                              " AND EXISTS (SELECT 1 FROM ", Staging(),
                              " AS s WHERE s.cluster = t.cluster AND s.unit = t.unit);\nINSERT INTO ", table,
                              " (", names, ") SELECT ", names, " FROM ", Staging(),
                              " AS s WHERE s.attempt IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ", table,
                              " AS t WHERE t.cluster = s.cluster AND t.unit = s.unit);\nCOMMIT TRANSACTION;");
  absl::Status status;
  for (int i = 0; i < kMostTransactions; ++i) {
    if (i > 0) world_.sleep(kBetweenTransactions * (i + world_.random()));
    status = service_.RunScript(NextJob(), sql);
    if (!absl::IsAborted(status)) break;
  }
  // It expires within a day, if this fails.
  const absl::Status dropped = service_.RunScript(NextJob(), Cat("DROP TABLE IF EXISTS ", Staging(), ";"));
  return status.ok() ? dropped : status;
}

}  // namespace goodput
