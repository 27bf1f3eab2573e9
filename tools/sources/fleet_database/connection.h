// A connection to the PostgreSQL server of the fleet database: the only user of libpq.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct pg_conn;
struct pg_result;

namespace goodput {

// Checks postgresql://[USER@]HOST[:PORT]/DATABASE[?OPTION=VALUE...], libpq's form of a connection. A password
// in it is refused: command lines and configuration files are not secret. Returns it without its options, for
// messages.
absl::StatusOr<std::string> CheckFleetUrl(const std::string& url);

// The rows of a result, as text.
class FleetResult {
 public:
  explicit FleetResult(pg_result* result);
  int rows() const;
  bool IsNull(int row, int column) const;
  std::string_view Text(int row, int column) const;  // valid as long as this
  std::int64_t Int(int row, int column) const;       // 0 if it is NULL
  std::int64_t affected() const;                     // rows that were inserted, changed or deleted

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

// A value of a statement's $1, $2 ...; absent: NULL.
using FleetValue = std::optional<std::string>;

// Errors: Unavailable if the server cannot be reached or the connection broke (then whether a COMMIT happened
// is unknown), Aborted if the server asks for another try (deadlock, serialization, shutdown),
// PermissionDenied, FailedPrecondition if the tables are missing, ResourceExhausted if its disk is full,
// Internal otherwise. Messages name the server.
class FleetConnection {
 public:
  // A server reached over TCP must show a certificate for its host name (sslmode=verify-full), unless the URL
  // says otherwise. Gives up after 10 s.
  static absl::StatusOr<FleetConnection> Open(const std::string& url);

  // One statement or several, without values.
  absl::Status Execute(const std::string& sql);
  absl::StatusOr<FleetResult> Query(const std::string& sql, const std::vector<FleetValue>& values = {});
  // Lines of COPY's text format, each without its line end.
  absl::Status CopyIn(const std::string& table, const std::vector<std::string>& columns,
                      const std::vector<std::string>& lines);
  std::string Identifier(const std::string& name) const;
  std::string Literal(const std::string& text) const;
  const std::string& name() const { return name_; }

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  FleetConnection(pg_conn* connection, std::string name);
  absl::Status Error(pg_result* result) const;
  std::unique_ptr<pg_conn, Finish> connection_;
  std::string name_;
};

// An array as PostgreSQL reads it, for a value of type text[].
std::string FleetArray(const std::vector<std::string>& texts);

}  // namespace goodput
