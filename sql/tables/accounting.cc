#include "sql/tables/accounting.h"

#include <algorithm>
#include <utility>

#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr const char* kColumns =
    "cluster, job_id, submit_s, eligible_s, start_s, end_s, state, exit_code, exit_signal, user, account, "
    "partition,"
    " qos, name, node_list, nodes, gpus, gpu_type, reason, failed_node, admin_comment, suspended_s, restarts,"
    " job_id_text, derived_signal, cancelled_by, reservation, time_limit_s";

void ReadRow(const Statement& row, AccountingRow& result) {
  int column = 0;
  result.cluster = row.Text(column++);
  result.job_id = row.Int(column++);
  result.submit_s = row.Int(column++);
  result.eligible_s = row.OptionalInt(column++);
  result.start_s = row.OptionalInt(column++);
  result.end_s = row.OptionalInt(column++);
  result.state = row.Text(column++);
  result.exit_code = row.OptionalInt(column++);
  result.exit_signal = row.OptionalInt(column++);
  for (std::string* text :
       {&result.user, &result.account, &result.partition, &result.qos, &result.name, &result.node_list}) {
    *text = row.Text(column++);
  }
  result.nodes = row.Int(column++);
  result.gpus = row.Int(column++);
  for (std::string* text : {&result.gpu_type, &result.reason, &result.failed_node, &result.admin_comment}) {
    *text = row.Text(column++);
  }
  result.suspended_s = row.Int(column++);
  result.restarts = row.OptionalInt(column++);
  result.job_id_text = row.Text(column++);
  result.derived_signal = row.OptionalInt(column++);
  result.cancelled_by = row.Text(column++);
  result.reservation = row.Text(column++);
  result.time_limit_s = row.OptionalInt(column++);
}

absl::StatusOr<std::vector<AccountingRow>> ReadRows(Statement& statement) {
  std::vector<AccountingRow> rows;
  while (statement.Step()) ReadRow(statement, rows.emplace_back());
  if (!statement.status().ok()) return statement.status();
  return rows;
}

// For rows from a file, when they were read is unknown.
constexpr std::int64_t kOfFile = 0;

absl::Status StoreRows(Database& db, const std::vector<AccountingRow>& rows, std::int64_t read_s) {
  Statement ended = db.Prepare(
      "SELECT 1 FROM accounting WHERE cluster = ?1 AND job_id = ?2 AND submit_s = ?3 AND end_s IS NOT NULL");
  Statement store =
      db.Prepare(Cat("INSERT OR REPLACE INTO accounting (", kColumns,
                     ", read_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
                     " ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)"));
  for (const AccountingRow& row : rows) {
    if (!row.end_s) {
      ended.Reset();
      ended.Bind(1, row.cluster).Bind(2, row.job_id).Bind(3, row.submit_s);
      const bool over = ended.Step();
      if (!ended.status().ok()) return ended.status();
      if (over) continue;
    }
    int at = 0;
    const auto bind = [&](const auto& value) { store.Bind(++at, value); };
    bind(row.cluster);
    bind(row.job_id);
    bind(row.submit_s);
    bind(row.eligible_s);
    bind(row.start_s);
    bind(row.end_s);
    bind(row.state);
    bind(row.exit_code);
    bind(row.exit_signal);
    for (const std::string* text :
         {&row.user, &row.account, &row.partition, &row.qos, &row.name, &row.node_list}) {
      bind(*text);
    }
    bind(row.nodes);
    bind(row.gpus);
    for (const std::string* text : {&row.gpu_type, &row.reason, &row.failed_node, &row.admin_comment})
      bind(*text);
    bind(row.suspended_s);
    bind(row.restarts);
    bind(row.job_id_text);
    bind(row.derived_signal);
    bind(row.cancelled_by);
    bind(row.reservation);
    bind(row.time_limit_s);
    bind(read_s);
    if (absl::Status status = store.Run(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status StoreAccounting(Database& db, const std::vector<AccountingRow>& rows, std::int64_t read_s) {
  if (rows.empty()) return absl::OkStatus();
  Transaction transaction(db);
  if (!transaction.status().ok()) return transaction.status();
  RETURN_IF_ERROR(StoreRows(db, rows, read_s));
  return transaction.Commit();
}

absl::StatusOr<std::int64_t> StoreAccountingOfFile(Database& db, const std::vector<AccountingRow>& rows) {
  Transaction transaction(db);
  if (!transaction.status().ok()) return transaction.status();
  std::vector<AccountingRow> news;
  Statement better = db.Prepare(
      "SELECT 1 FROM accounting WHERE cluster = ?1 AND job_id = ?2 AND submit_s = ?3 AND read_s <> ?4");
  for (const AccountingRow& row : rows) {
    better.Bind(1, row.cluster).Bind(2, row.job_id).Bind(3, row.submit_s).Bind(4, kOfFile);
    if (!better.Step()) news.push_back(row);
    if (!better.status().ok()) return better.status();
    better.Reset();
  }
  RETURN_IF_ERROR(StoreRows(db, news, kOfFile));
  RETURN_IF_ERROR(transaction.Commit());
  return static_cast<std::int64_t>(news.size());
}

absl::StatusOr<std::vector<AccountingRow>> LoadAccounting(Database& db, const JobKey& job) {
  Statement statement =
      db.Prepare(Cat("SELECT ", kColumns,
                     " FROM accounting WHERE cluster = ?1 AND job_id = ?2 AND submit_s >= ?3"
                     " AND submit_s < ?4 ORDER BY submit_s"));
  statement.Bind(1, job.cluster).Bind(2, job.job_id).Bind(3, job.from_s).Bind(4, job.until_s);
  return ReadRows(statement);
}

absl::StatusOr<std::vector<std::int64_t>> RecentWaits(Database& db, std::string_view cluster,
                                                      std::string_view partition, std::int64_t gpus,
                                                      std::int64_t since_s) {
  std::vector<std::int64_t> waits;
  Statement rows = db.Prepare(
      "SELECT start_s - COALESCE(eligible_s, submit_s) FROM accounting WHERE start_s >= ?1 AND cluster = ?2"
      " AND partition = ?3 AND gpus BETWEEN ?4 AND ?5");
  rows.Bind(1, since_s).Bind(2, cluster).Bind(3, partition).Bind(4, (gpus + 1) / 2).Bind(5, gpus * 2);
  while (rows.Step()) waits.push_back(std::max<std::int64_t>(0, rows.Int(0)));
  if (!rows.status().ok()) return rows.status();
  return waits;
}

absl::Status AccountingReader::Advance(Cursor& cursor) {
  cursor.next.reset();
  if (cursor.rows.Step()) ReadRow(cursor.rows, cursor.next.emplace());
  return cursor.rows.status();
}

absl::StatusOr<std::vector<AccountingRow>> AccountingReader::RowsOf(const JobKey& job) {
  // Rows skipped before a separate query would have been cheaper.
  constexpr int kWorthSkipping = 32;
  auto found = cursors_.find(job.cluster);
  if (found == cursors_.end()) {
    found = cursors_.try_emplace(job.cluster).first;
    Cursor& fresh = found->second;
    fresh.rows = db_.Prepare(Cat("SELECT ", kColumns,
                                 " FROM accounting WHERE cluster = ?1 AND (job_id, submit_s) >= (?2, ?3)"
                                 " ORDER BY job_id, submit_s"));
    fresh.rows.Bind(1, job.cluster).Bind(2, job.job_id).Bind(3, job.from_s);
    if (absl::Status status = Advance(fresh); !status.ok()) return status;
  }
  Cursor& cursor = found->second;
  const auto before = [&](const AccountingRow& row) {
    return row.job_id < job.job_id || (row.job_id == job.job_id && row.submit_s < job.from_s);
  };
  for (int skipped = 0; cursor.next && before(*cursor.next); ++skipped) {
    if (skipped == kWorthSkipping) return LoadAccounting(db_, job);
    if (absl::Status status = Advance(cursor); !status.ok()) return status;
  }
  std::vector<AccountingRow> rows;
  // The cursor is past the job, or the job has no rows.
  if (!cursor.next || cursor.next->job_id != job.job_id || cursor.next->submit_s >= job.until_s)
    return LoadAccounting(db_, job);
  while (cursor.next && cursor.next->job_id == job.job_id && cursor.next->submit_s < job.until_s) {
    rows.push_back(*std::move(cursor.next));
    if (absl::Status status = Advance(cursor); !status.ok()) return status;
  }
  return rows;
}

absl::StatusOr<std::vector<AccountingRow>> LoadStartedBetween(Database& db, const std::string& cluster,
                                                              std::int64_t from_s, std::int64_t to_s) {
  Statement statement = db.Prepare(Cat("SELECT ", kColumns,
                                       " FROM accounting WHERE cluster = ?1 AND start_s BETWEEN ?2 AND ?3"
                                       " ORDER BY start_s, job_id"));
  statement.Bind(1, cluster).Bind(2, from_s).Bind(3, to_s);
  return ReadRows(statement);
}

absl::Status StoreOutages(Database& db, const std::vector<NodeOutage>& outages) {
  if (outages.empty()) return absl::OkStatus();
  Transaction transaction(db);
  if (!transaction.status().ok()) return transaction.status();
  Statement store = db.Prepare(
      "INSERT INTO node_outage (cluster, node, start_s, end_s, state, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
      " ON CONFLICT DO UPDATE SET end_s = coalesce(excluded.end_s, end_s), state = excluded.state,"
      " reason = excluded.reason");
  for (const NodeOutage& outage : outages) {
    store.Bind(1, outage.cluster).Bind(2, outage.node).Bind(3, outage.start_s).Bind(4, outage.end_s);
    store.Bind(5, outage.state).Bind(6, outage.reason);
    if (absl::Status status = store.Run(); !status.ok()) return status;
  }
  return transaction.Commit();
}

absl::StatusOr<std::vector<NodeOutage>> LoadOutages(Database& db, const std::string& cluster,
                                                    std::int64_t from_s, std::int64_t to_s) {
  Statement statement = db.Prepare(
      "SELECT cluster, node, state, start_s, end_s, reason FROM node_outage"
      " WHERE cluster = ?1 AND start_s BETWEEN ?2 AND ?3 ORDER BY start_s, node");
  statement.Bind(1, cluster).Bind(2, from_s).Bind(3, to_s);
  std::vector<NodeOutage> outages;
  while (statement.Step()) {
    outages.push_back({statement.Text(0), statement.Text(1), statement.Text(2), statement.Int(3),
                       statement.OptionalInt(4), statement.Text(5)});
  }
  if (!statement.status().ok()) return statement.status();
  return outages;
}

}  // namespace goodput
