#include "sql/tables/imports.h"

#include "spank/clock.h"
#include "sql/spool_line.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::int64_t kMaxSetAside = 10'000;

constexpr const char* kSelect =
    "SELECT imported.source_id, source.file, fingerprint, run, name, user, job_id, joined, source.records,"
    " source.bad, (SELECT count(*) FROM imported_attempt WHERE source_id = imported.source_id)"
    " FROM imported JOIN source ON source.id = imported.source_id";

std::optional<ImportRow> ReadRow(Statement& rows) {
  if (!rows.Step()) return std::nullopt;
  ImportRow row;
  int column = 0;
  row.source_id = rows.Int(column++);
  for (std::string* text : {&row.file, &row.fingerprint, &row.run, &row.name, &row.user})
    *text = rows.Text(column++);
  row.job_id = rows.OptionalInt(column++);
  row.joined = rows.Text(column++);
  row.entries = rows.Int(column++);
  row.bad = rows.Int(column++);
  row.attempts = rows.Int(column++);
  return row;
}

}  // namespace

absl::StatusOr<std::optional<ImportRow>> FindImport(Database& db, const std::string& file) {
  Statement rows = db.Prepare(Cat(kSelect, " WHERE source.node = ?1 AND source.file = ?2"));
  rows.Bind(1, kImportNode).Bind(2, file);
  std::optional<ImportRow> row = ReadRow(rows);
  if (!rows.status().ok()) return rows.status();
  return row;
}

absl::StatusOr<std::vector<ImportRow>> FindOtherImports(Database& db, const ImportRow& of) {
  Statement rows = db.Prepare(Cat(kSelect,
                                  " WHERE imported.run = ?1 AND imported.user = ?2 AND imported.name = ?3"
                                  " AND imported.job_id IS NOT NULL AND imported.source_id <> ?4"
                                  " ORDER BY imported.source_id"));
  rows.Bind(1, of.run).Bind(2, of.user).Bind(3, of.name).Bind(4, of.source_id);
  std::vector<ImportRow> others;
  while (std::optional<ImportRow> row = ReadRow(rows)) others.push_back(*std::move(row));
  if (!rows.status().ok()) return rows.status();
  return others;
}

absl::Status RemoveImport(Database& db, std::int64_t source_id) {
  for (const char* table :
       {"event", "step_block", "mark_block", "quarantine", "imported_attempt", "imported"}) {
    Statement remove = db.Prepare(Cat("DELETE FROM ", table, " WHERE source_id = ?1"));
    remove.Bind(1, source_id);
    RETURN_IF_ERROR(remove.Run());
  }
  return absl::OkStatus();
}

absl::StatusOr<ImportRow> LoadImport(Database& db, const JobKey& job) {
  Statement rows = db.Prepare(Cat(kSelect, " WHERE imported.job_id = ?1"));
  rows.Bind(1, job.job_id);
  std::optional<ImportRow> row = ReadRow(rows);
  if (!rows.status().ok()) return rows.status();
  if (!row) return absl::NotFoundError(Cat("there is no import ", -job.job_id));
  return *std::move(row);
}

absl::StatusOr<std::vector<ImportedAttempt>> LoadImportedAttempts(Database& db, std::int64_t source_id) {
  Statement rows = db.Prepare(
      "SELECT number, begin_ns, end_ns, ended, state, stop_ns, is_life, offset FROM imported_attempt"
      " WHERE source_id = ?1 ORDER BY number");
  rows.Bind(1, source_id);
  std::vector<ImportedAttempt> attempts;
  while (rows.Step()) {
    attempts.push_back({rows.Int(0), rows.Int(1), rows.Int(2), rows.Int(3) != 0, rows.Text(4),
                        rows.OptionalInt(5), rows.Int(6) != 0, rows.Int(7)});
  }
  if (!rows.status().ok()) return rows.status();
  return attempts;
}

absl::Status ReadImportedMarks(Database& db, const JobKey& job,
                               const std::function<void(std::int64_t, const PackedMark&)>& take) {
  Statement rows = db.Prepare(
      "SELECT source_id, data FROM mark_block CROSS JOIN source"
      " ON source.id = mark_block.source_id AND source.cluster IN (?2, '')"
      " WHERE mark_block.job_id = ?1 ORDER BY source_id, seq");
  rows.Bind(1, job.job_id).Bind(2, job.cluster);
  while (rows.Step()) {
    const std::int64_t source_id = rows.Int(0);
    const bool whole = UnpackMarks(rows.Bytes(1), [&](const PackedMark& mark) {
      const std::int64_t t_s = mark.t_ns / kSecondNs;
      if (t_s >= job.from_s && t_s < job.until_s) take(source_id, mark);
    });
    if (!whole)
      return absl::DataLossError(Cat(db.path(), ": a mark block of job ", job.job_id, " is damaged"));
  }
  return rows.status();
}

absl::Status ImportWriter::Begin(const std::string& file, const std::string& cluster) {
  set_aside_ = 0;
  marks_.clear();
  attempts_ = 0;
  cluster_ = cluster;
  Statement known = db_.Prepare("SELECT id FROM source WHERE node = ?1 AND file = ?2");
  known.Bind(1, kImportNode).Bind(2, file);
  if (known.Step()) {
    source_id_ = known.Int(0);
    RETURN_IF_ERROR(RemoveImport(db_, source_id_));
    Statement update = db_.Prepare("UPDATE source SET cluster = ?2 WHERE id = ?1");
    update.Bind(1, source_id_).Bind(2, cluster);
    if (absl::Status status = update.Run(); !status.ok()) return status;
  } else {
    if (!known.status().ok()) return known.status();
    Statement insert = db_.Prepare("INSERT INTO source (cluster, node, file) VALUES (?1, ?2, ?3)");
    insert.Bind(1, cluster).Bind(2, kImportNode).Bind(3, file);
    RETURN_IF_ERROR(insert.Run());
    source_id_ = db_.LastInsertId();
  }
  steps_.emplace(db_, source_id_);
  event_ = db_.Prepare(
      "INSERT INTO event (source_id, offset, t_ns, kind, job_id, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  return absl::OkStatus();
}

absl::Status ImportWriter::Step(std::int64_t job_id, std::string_view slurm_step, const PackedStep& step) {
  if (job_id > 0) seen_.Add(job_id, cluster_, "", step.t_ns);
  return steps_->Append(job_id, slurm_step, step, std::nullopt);
}

absl::Status ImportWriter::Mark(std::int64_t job_id, const PackedMark& mark) {
  if (job_id > 0) seen_.Add(job_id, cluster_, "", mark.t_ns);
  OpenMarks& open = marks_[job_id];
  open.packer.Add(mark);
  return open.packer.marks() < kMarksPerMarkBlock ? absl::OkStatus() : StoreMarks(job_id);
}

absl::Status ImportWriter::StoreMarks(std::int64_t job_id) {
  OpenMarks& open = marks_[job_id];
  if (open.packer.marks() == 0) return absl::OkStatus();
  Statement insert =
      db_.Prepare("INSERT INTO mark_block (source_id, job_id, seq, marks, data) VALUES (?1, ?2, ?3, ?4, ?5)");
  insert.Bind(1, source_id_).Bind(2, job_id).Bind(3, open.seq++).Bind(4, open.packer.marks());
  insert.BindBlob(5, open.packer.Finish());
  open.packer = MarkPacker();
  return insert.Run();
}

absl::Status ImportWriter::Event(std::int64_t job_id, std::string_view kind, std::int64_t t_ns,
                                 std::int64_t offset, std::string_view record) {
  if (job_id > 0) seen_.Add(job_id, cluster_, "", t_ns);
  event_->Bind(1, source_id_).Bind(2, offset).Bind(3, t_ns).Bind(4, kind).Bind(5, job_id).Bind(6, record);
  return event_->Run();
}

absl::Status ImportWriter::Attempt(const ImportedAttempt& attempt) {
  ++attempts_;
  Statement insert = db_.Prepare(
      "INSERT INTO imported_attempt (source_id, number, begin_ns, end_ns, ended, state, stop_ns, is_life, "
      "offset)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  insert.Bind(1, source_id_).Bind(2, attempt.number).Bind(3, attempt.begin_ns).Bind(4, attempt.end_ns);
  insert.Bind(5, std::int64_t{attempt.ended}).Bind(6, attempt.state).Bind(7, attempt.stop_ns);
  insert.Bind(8, std::int64_t{attempt.is_life}).Bind(9, attempt.offset);
  return insert.Run();
}

absl::Status ImportWriter::SetAside(std::int64_t offset, std::string_view reason, std::string_view text) {
  if (++set_aside_ > kMaxSetAside) return absl::OkStatus();
  Statement insert = db_.Prepare(
      "INSERT OR IGNORE INTO quarantine (source_id, offset, reason, excerpt) VALUES (?1, ?2, ?3, ?4)");
  insert.Bind(1, source_id_).Bind(2, offset).Bind(3, reason).Bind(4, text.substr(0, kExcerptBytes));
  return insert.Run();
}

absl::Status ImportWriter::Finish(const ImportRow& row, std::int64_t bytes, std::int64_t now_s) {
  RETURN_IF_ERROR(steps_->Flush());
  for (const auto& [job_id, open] : marks_) {
    if (absl::Status status = StoreMarks(job_id); !status.ok()) return status;
  }
  RETURN_IF_ERROR(seen_.Flush(db_));
  Statement source = db_.Prepare("UPDATE source SET offset = ?2, records = ?3, bad = ?4 WHERE id = ?1");
  source.Bind(1, source_id_).Bind(2, bytes).Bind(3, row.entries).Bind(4, set_aside_);
  RETURN_IF_ERROR(source.Run());
  Statement insert = db_.Prepare(
      "INSERT INTO imported (source_id, job_id, run, name, user, joined, fingerprint, read_s)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  insert.Bind(1, source_id_).Bind(2, row.job_id).Bind(3, row.run).Bind(4, row.name).Bind(5, row.user);
  insert.Bind(6, row.joined).Bind(7, row.fingerprint).Bind(8, now_s);
  return insert.Run();
}

}  // namespace goodput
