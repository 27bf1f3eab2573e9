#include "tools/sources/fleet_database/connection.h"

#include <libpq-fe.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "sql/fleet/fleet_schema.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

constexpr const char* kForm =
    "use postgresql://USER@HOST/DATABASE, with options such as ?passfile=/etc/slurm-goodput/fleet.pass";

struct Parsed {
  std::string host;
  std::string port;
  std::string database;
  std::string mode;  // sslmode
};

absl::StatusOr<Parsed> Parse(const std::string& url) {
  if (url.rfind("postgresql://", 0) != 0 && url.rfind("postgres://", 0) != 0)
    return absl::InvalidArgumentError(Cat("the fleet database must be a URL; ", kForm));
  char* problem = nullptr;
  PQconninfoOption* const options = PQconninfoParse(url.c_str(), &problem);
  if (options == nullptr) {
    // Its message may quote the URL, and so a password.
    PQfreemem(problem);
    return absl::InvalidArgumentError(Cat("the URL of the fleet database cannot be read; ", kForm));
  }
  Parsed parsed;
  bool password = false;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const std::string_view key = option->keyword;
    if (key == "host" || key == "hostaddr") parsed.host = option->val;
    if (key == "port") parsed.port = option->val;
    if (key == "dbname") parsed.database = option->val;
    if (key == "sslmode") parsed.mode = option->val;
    if (key == "password" || key == "sslpassword") password = true;
  }
  PQconninfoFree(options);
  if (password)
    return absl::InvalidArgumentError(
        "the URL of the fleet database contains a password, which others could read; put it into a file with "
        "mode 0600 and add ?passfile=FILE, or use a client certificate");
  return parsed;
}

std::string NameOf(const Parsed& parsed) {
  return Printable(Cat("fleet database ", parsed.database.empty() ? "" : Cat(parsed.database, " on "),
                       parsed.host.empty() ? "this machine" : parsed.host,
                       parsed.port.empty() ? "" : Cat(":", parsed.port)),
                   200);
}

// libpq's messages have several lines.
std::string OneLine(const char* text) {
  std::string line = text == nullptr ? "" : text;
  for (char& c : line) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  absl::StripAsciiWhitespace(&line);
  return Printable(line, 600);
}

absl::StatusCode CodeOf(std::string_view state) {
  const std::string_view group = state.substr(0, 2);
  if (group == "08" || state == "57P01" || state == "57P02" || state == "57P03")
    return absl::StatusCode::kUnavailable;
  if (group == "40" || state == "55P03") return absl::StatusCode::kAborted;
  if (state == "42501" || group == "28") return absl::StatusCode::kPermissionDenied;
  if (state == "42P01" || state == "3F000" || state == "42703" || state == "42883")
    return absl::StatusCode::kFailedPrecondition;
  if (group == "53") return absl::StatusCode::kResourceExhausted;
  if (state == "57014") return absl::StatusCode::kDeadlineExceeded;
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::StatusOr<std::string> CheckFleetUrl(const std::string& url) {
  ASSIGN_OR_RETURN(const Parsed parsed, Parse(url));
  return NameOf(parsed);
}

void FleetResult::Clear::operator()(pg_result* result) const {
  PQclear(result);
}

FleetResult::FleetResult(pg_result* result) : result_(result) {}

int FleetResult::rows() const {
  return PQntuples(result_.get());
}

bool FleetResult::IsNull(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view FleetResult::Text(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t FleetResult::Int(int row, int column) const {
  std::int64_t value = 0;
  return absl::SimpleAtoi(ToAbsl(Text(row, column)), &value) ? value : 0;
}

std::int64_t FleetResult::affected() const {
  std::int64_t value = 0;
  return absl::SimpleAtoi(PQcmdTuples(result_.get()), &value) ? value : 0;
}

void FleetConnection::Finish::operator()(pg_conn* connection) const {
  PQfinish(connection);
}

FleetConnection::FleetConnection(pg_conn* connection, std::string name)
    : connection_(connection), name_(std::move(name)) {}

absl::StatusOr<FleetConnection> FleetConnection::Open(const std::string& url) {
  ASSIGN_OR_RETURN(const Parsed parsed, Parse(url));
  if (std::getenv("PGPASSWORD") != nullptr)
    return absl::InvalidArgumentError(
        "PGPASSWORD is set, which other processes can read; unset it, and use ?passfile=FILE in the URL");
  const bool over_tcp = !parsed.host.empty() && parsed.host.front() != '/';
  const bool protect = over_tcp && parsed.mode.empty() && std::getenv("PGSSLMODE") == nullptr;
  std::vector<const char*> keys{"dbname",          "connect_timeout", "application_name",
                                "client_encoding", "keepalives_idle", "tcp_user_timeout"};
  std::vector<const char*> values{url.c_str(), "10", "slurm-goodput", "UTF8", "30", "60000"};
  if (protect) {
    keys.push_back("sslmode");
    values.push_back("verify-full");
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);
  FleetConnection connection(PQconnectdbParams(keys.data(), values.data(), 1), NameOf(parsed));
  pg_conn* const raw = connection.connection_.get();
  if (PQstatus(raw) != CONNECTION_OK) {
    return absl::UnavailableError(
        Cat("cannot connect to the ", connection.name_, ": ", OneLine(PQerrorMessage(raw))));
  }
  // Notices would go to stderr.
  PQsetNoticeProcessor(
      raw, [](void*, const char*) {}, nullptr);
  // To compile expressions for the many sums takes longer than it saves.
  if (absl::Status status = connection.Execute(
          Cat(kFleetSearchPath,
              "; SET jit = off; SET timezone = 'UTC'; SET DateStyle = 'ISO'; SET statement_timeout = '10min';"
              " SET lock_timeout = '60s'; SET idle_in_transaction_session_timeout = '60s'"));
      !status.ok())
    return status;
  return connection;
}

absl::Status FleetConnection::Error(pg_result* result) const {
  const char* const state = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const primary =
      result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const bool broken = PQstatus(connection_.get()) != CONNECTION_OK || state == nullptr;
  const absl::StatusCode code = broken ? absl::StatusCode::kUnavailable : CodeOf(state);
  std::string what = OneLine(primary != nullptr ? primary : PQerrorMessage(connection_.get()));
  if (code == absl::StatusCode::kFailedPrecondition)
    what += "; create or upgrade the tables with sgoodput fleet init or migrate";
  return absl::Status(code, Cat(name_, ": ", what));
}

absl::Status FleetConnection::Execute(const std::string& sql) {
  const std::unique_ptr<pg_result, void (*)(pg_result*)> result(PQexec(connection_.get(), sql.c_str()),
                                                                PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? absl::OkStatus() : Error(result.get());
}

absl::StatusOr<FleetResult> FleetConnection::Query(const std::string& sql,
                                                   const std::vector<FleetValue>& values) {
  std::vector<const char*> texts;
  texts.reserve(values.size());
  for (const FleetValue& value : values) texts.push_back(value ? value->c_str() : nullptr);
  pg_result* const result = PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(texts.size()),
                                         nullptr, texts.data(), nullptr, nullptr, 0);
  FleetResult owned(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) return Error(result);
  return owned;
}

absl::Status FleetConnection::CopyIn(const std::string& table, const std::vector<std::string>& columns,
                                     const std::vector<std::string>& lines) {
  pg_conn* const raw = connection_.get();
  const auto finished = [](pg_result* result) {
    return std::unique_ptr<pg_result, void (*)(pg_result*)>(result, PQclear);
  };
  const auto begun =
      finished(PQexec(raw, Cat("COPY ", table, " (", absl::StrJoin(columns, ", "), ") FROM STDIN").c_str()));
  if (PQresultStatus(begun.get()) != PGRES_COPY_IN) return Error(begun.get());
  constexpr std::size_t kPiece = std::size_t{256} << 10U;
  std::string piece;
  bool sent = true;
  const auto send = [&] {
    sent = sent && PQputCopyData(raw, piece.data(), static_cast<int>(piece.size())) == 1;
    piece.clear();
  };
  for (const std::string& line : lines) {
    piece += line;
    piece.push_back('\n');
    if (piece.size() >= kPiece) send();
  }
  send();
  if (PQputCopyEnd(raw, sent ? nullptr : "not all rows could be sent") != 1) return Error(nullptr);
  absl::Status status = absl::OkStatus();
  for (auto result = finished(PQgetResult(raw)); result; result = finished(PQgetResult(raw))) {
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) status.Update(Error(result.get()));
  }
  return status;
}

std::string FleetConnection::Identifier(const std::string& name) const {
  char* const escaped = PQescapeIdentifier(connection_.get(), name.data(), name.size());
  std::string text = escaped == nullptr ? "" : escaped;
  PQfreemem(escaped);
  return text;
}

std::string FleetConnection::Literal(const std::string& text) const {
  char* const escaped = PQescapeLiteral(connection_.get(), text.data(), text.size());
  std::string literal = escaped == nullptr ? "" : escaped;
  PQfreemem(escaped);
  return literal;
}

std::string FleetArray(const std::vector<std::string>& texts) {
  std::string array = "{";
  for (const std::string& text : texts) {
    if (array.size() > 1) array.push_back(',');
    array.push_back('"');
    for (const char c : text) {
      if (c == '"' || c == '\\') array.push_back('\\');
      array.push_back(c);
    }
    array.push_back('"');
  }
  array.push_back('}');
  return array;
}

}  // namespace goodput
