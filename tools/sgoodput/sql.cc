// `sgoodput sql`: queries the database, including packed records.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "spank/json_text.h"
#include "sql/status_macros.h"
#include "sql/tables/virtual_tables.h"
#include "sql/text.h"
#include "tools/base/format.h"
#include "tools/base/parse_duration.h"
#include "tools/sgoodput/options.h"
#include "tools/sgoodput/remote.h"
#include "tools/sgoodput/session.h"

namespace goodput {
namespace {

// A table's width depends on all its rows; --csv and --json print each row as it comes.
constexpr std::size_t kMostRowsOfTable = 10'000;
constexpr std::size_t kWidestCell = 60;

bool IsNumber(const Statement& row, int column) {
  const Statement::Type type = row.TypeOf(column);
  return type == Statement::Type::kInt || type == Statement::Type::kReal;
}

// NULL is empty, a blob is an SQL literal.
std::string Text(const Statement& row, int column) {
  switch (row.TypeOf(column)) {
    case Statement::Type::kNull:
      return "";
    case Statement::Type::kInt:
      return std::to_string(row.Int(column));
    case Statement::Type::kReal:
      return absl::StrFormat("%.15g", row.Real(column));
    case Statement::Type::kBlob:
      return Cat("X'", absl::BytesToHexString(ToAbsl(row.Bytes(column))), "'");
    case Statement::Type::kText:
      break;
  }
  return row.Text(column);
}

std::string Json(const Statement& row, int column) {
  if (row.TypeOf(column) == Statement::Type::kNull) return "null";
  return IsNumber(row, column) ? Text(row, column) : QuotedJson(Text(row, column));
}

std::vector<std::string> Names(const Statement& statement) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(statement.columns()));
  for (int i = 0; i < statement.columns(); ++i) names.push_back(statement.Name(i));
  return names;
}

std::vector<std::string> Cells(const Statement& row) {
  std::vector<std::string> cells;
  cells.reserve(static_cast<std::size_t>(row.columns()));
  for (int i = 0; i < row.columns(); ++i) cells.push_back(Text(row, i));
  return cells;
}

void PrintCsv(Statement& statement) {
  std::fputs(CsvLine(Names(statement)).c_str(), stdout);
  while (statement.Step()) std::fputs(CsvLine(Cells(statement)).c_str(), stdout);
}

void PrintJson(Statement& statement) {
  std::string line = "{\"schema\":\"slurm-goodput/sql/1\",\"columns\":[";
  for (const std::string& name : Names(statement))
    line += Cat(line.back() == '[' ? "" : ",", QuotedJson(name));
  line += "],\"rows\":[";
  while (statement.Step()) {
    line += "\n[";
    for (int i = 0; i < statement.columns(); ++i) line += Cat(i == 0 ? "" : ",", Json(statement, i));
    line += ']';
    std::fputs(line.c_str(), stdout);
    line = ",";
  }
  // After a row, `line` is the comma for the next one.
  std::printf("%s]}\n", line == "," ? "" : line.c_str());
}

absl::Status PrintTable(Statement& statement) {
  std::vector<Table::Column> columns;
  std::vector<std::vector<std::string>> rows;
  for (std::string& name : Names(statement))
    columns.push_back({Printable(name), Table::Align::kRight, kWidestCell});
  while (statement.Step()) {
    if (rows.size() == kMostRowsOfTable)
      return absl::ResourceExhaustedError(
          Cat("more than ", kMostRowsOfTable, " rows; use --csv or --json, or add a LIMIT"));
    for (int i = 0; i < statement.columns(); ++i) {
      if (!IsNumber(statement, i) && !statement.IsNull(i))
        columns[static_cast<std::size_t>(i)].align = Table::Align::kLeft;
    }
    rows.push_back(Cells(statement));
    for (std::string& cell : rows.back()) cell = Printable(cell);
  }
  if (!statement.status().ok()) return absl::OkStatus();  // the caller reports it
  Table table(columns);
  for (std::vector<std::string>& row : rows) table.Add(std::move(row));
  std::fputs(table.Render(true).c_str(), stdout);
  return absl::OkStatus();
}

absl::Status Query(Database& db, const SqlOptions& options, absl::Duration longest) {
  RETURN_IF_ERROR(AddVirtualTables(db));
  const ReadingOnly reading(db, longest);
  Statement statement = db.Prepare(options.query);
  absl::Status printed;
  if (statement.status().ok()) {
    if (options.csv) {
      PrintCsv(statement);
    } else if (options.common.json) {
      PrintJson(statement);
    } else {
      printed = PrintTable(statement);
    }
  }
  if (statement.status().ok()) return printed;
  if (reading.time_is_over())
    return absl::DeadlineExceededError(Cat("the query ran for more than ", options.timeout,
                                           "; select less (job_id = ...), or raise --timeout"));
  const std::string why = Message(statement.status());
  return absl::InvalidArgumentError(Cat("query: ", std::string(absl::StripPrefix(why, "database: "))));
}

}  // namespace

int RunSql(const SqlOptions& options) {
  if (const std::optional<std::string> url = RemoteUrl(options.common)) {
    return Fail(
        absl::InvalidArgumentError(Cat("sql is not available from ", *url,
                                       ": on the machine with the database, name its file with --db FILE")));
  }
  if (options.csv && options.common.json)
    return Fail(absl::InvalidArgumentError("--csv cannot be used with --json"));
  const absl::StatusOr<double> longest = ParseDurationOption(options.timeout);
  if (!longest.ok()) return Fail(Annotate(longest.status(), "--timeout"));
  absl::StatusOr<Session> session = OpenSession(options.common, {}, std::nullopt);
  if (!session.ok()) return Fail(session.status());
  if (!session->viewer.all)
    return Fail(
        absl::PermissionDeniedError("sql shows the jobs of all users, and you may see only your own"));
  absl::StatusOr<Database> db = Database::Open(session->db.path(), Database::Mode::kReadOnly);
  if (!db.ok()) return Fail(db.status());
  const absl::Status status = Query(*db, options, absl::Seconds(*longest));
  return status.ok() ? kAnswered : Fail(status);
}

}  // namespace goodput
