#include "sql/ingest/file_ingest.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "spank/event.h"
#include "sql/spool_line.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Lines of a file whose reason and beginning are kept.
constexpr std::int64_t kMaxSetAsideOfFile = 100;

constexpr std::string_view kController = "@controller";

// What goodputd on the controller records of the scheduler. The root user of a node can write what he wants
// into that node's folder, and must not decide what became of jobs on other nodes.
bool IsOfController(std::string_view kind) {
  return kind == kind::kQueue || kind == kind::kAttempt || kind == kind::kGone || kind == kind::kNodeState ||
         kind == kind::kWatch;
}

absl::Status SetAside(Database& db, const Source& source, std::int64_t offset, std::string_view line,
                      const absl::Status& why) {
  Statement set_aside = db.Prepare(
      "INSERT OR IGNORE INTO quarantine (source_id, offset, reason, excerpt) VALUES (?1, ?2, ?3, ?4)");
  set_aside.Bind(1, source.id).Bind(2, offset).Bind(3, Message(why));
  set_aside.Bind(4, line.substr(0, kExcerptBytes));
  return set_aside.Run();
}

}  // namespace

absl::Status NewRows::Flush(Database& db) {
  RETURN_IF_ERROR(sources.Flush());
  RETURN_IF_ERROR(hooks.Flush());
  RETURN_IF_ERROR(events.Flush());
  if (memory != nullptr) RETURN_IF_ERROR(hooks.PackSaves(*memory));
  return seen.Flush(db);
}

absl::StatusOr<std::int64_t> FileIngest::Offset(Database& db) const {
  ASSIGN_OR_RETURN(
      const std::optional<Source> known,
      FindSource(db, place_.cluster, std::string(place_.fallback), std::string(place_.node), place_.file));
  return known ? known->offset : 0;
}

// The file's row; one from before its cluster was named is given it. One that is not there yet will be.
absl::StatusOr<Source> FileIngest::FindOrMakeSource(Database& db, NewRows& rows) const {
  absl::StatusOr<bool> is_known = false;
  if (!is_new_ || !rows.alone) is_known = rows.sources.IsKnown(place_.node, place_.file);
  if (!is_known.ok()) return is_known.status();
  absl::StatusOr<std::optional<Source>> known = std::optional<Source>();
  if (*is_known) {
    known =
        FindSource(db, place_.cluster, std::string(place_.fallback), std::string(place_.node), place_.file);
  }
  if (!known.ok()) return known.status();
  if (!*known) {
    ASSIGN_OR_RETURN(const std::int64_t id, rows.sources.NextId());
    Source made{id, 0, place_.cluster.empty() ? std::string(place_.fallback) : place_.cluster};
    made.is_new = !rows.checked;
    if (made.is_new) return made;
    Statement insert = db.Prepare("INSERT INTO source (id, cluster, node, file) VALUES (?1, ?2, ?3, ?4)");
    insert.Bind(1, made.id).Bind(2, made.cluster).Bind(3, place_.node).Bind(4, place_.file);
    RETURN_IF_ERROR(insert.Run());
    return made;
  }
  if (place_.cluster.empty() || (*known)->cluster == place_.cluster) return **std::move(known);
  absl::Status status = MoveSeenJobs(db, (*known)->id, (*known)->cluster, place_.cluster);
  if (!status.ok()) return status;
  (*known)->cluster = place_.cluster;
  Statement update = db.Prepare("UPDATE source SET cluster = ?2 WHERE id = ?1");
  update.Bind(1, (*known)->id).Bind(2, place_.cluster);
  if (status = update.Run(); !status.ok()) return status;
  return **std::move(known);
}

absl::Status FileIngest::TakeLine(const SpoolLine& record, const Source& source, std::int64_t offset,
                                  const LineTemplates& parser, StepStore& steps, NewRows& rows) const {
  ++rows.records;
  if (record.job) rows.seen.Add(*record.job, source.cluster, record.run, record.t_ns);
  if (record.is_step_mark) {
    return steps.Append(*record.job, record.slurm_step,
                        {record.t_ns, record.train_step, record.task.value_or(0), offset},
                        record.t_ns - record.m_ns);
  }
  const NewEvent event{source.id, offset, record.t_ns, record.kind, record.job, parser.line()};
  const LineTemplates::Shape* shape = parser.shape();
  // The name of a cluster that no record gave may change, and with it whose its records are.
  if (shape != nullptr && shape->may_be_many() && record.job && !place_.cluster.empty() &&
      record.cluster == place_.cluster) {
    const HookRows::File file{place_.cluster, place_.node, BootOf(place_.file)};
    if (!file.boot.empty()) return rows.hooks.Add(file, event, *shape, parser.numbers());
  }
  return rows.events.Add(event);
}

absl::Status FileIngest::Take(Database& db, std::string_view bytes, std::int64_t begin, LineTemplates& parser,
                              NewRows& rows) const {
  ASSIGN_OR_RETURN(const Source source, FindOrMakeSource(db, rows));
  const std::int64_t end = begin + static_cast<std::int64_t>(bytes.size());
  if (source.offset < begin || source.offset >= end) return absl::OkStatus();
  // Where another stopped is the end of a line, too.
  bytes.remove_prefix(static_cast<std::size_t>(source.offset - begin));
  StepStore steps(db, source.id);
  const std::int64_t records = rows.records;
  std::int64_t bad = 0;
  std::optional<std::int64_t> newest_t_ns;
  for (std::size_t at = 0; at < bytes.size();) {
    if (bytes[at] == '\n') {
      ++at;
      continue;
    }
    absl::StatusOr<SpoolLine> record = parser.Parse(bytes.substr(at), place_.node);
    const std::string_view line = parser.line();
    if (!record.ok() && line.find('\0') != std::string_view::npos) {
      record = absl::InvalidArgumentError("a hole in the file");
    }
    if (record.ok() && record->node != place_.node) {
      record = absl::InvalidArgumentError(Cat("`node` is not the folder's ", place_.node));
    }
    if (record.ok() && IsOfController(record->kind) && place_.node != kController) {
      record = absl::InvalidArgumentError(
          Cat("a node cannot record `", record->kind, "`; only the controller can"));
    }
    const std::int64_t offset = source.offset + static_cast<std::int64_t>(at);
    absl::Status status;
    if (record.ok()) {
      newest_t_ns = std::max(newest_t_ns.value_or(record->t_ns), record->t_ns);
      status = TakeLine(*record, source, offset, parser, steps, rows);
    } else {
      // The others are counted: a file of nothing else must not fill the database.
      if (source.bad + ++bad <= kMaxSetAsideOfFile)
        status = SetAside(db, source, offset, line, record.status());
    }
    if (!status.ok()) return status;
    at += line.size() + 1;
  }
  RETURN_IF_ERROR(steps.Flush());
  rows.bytes += static_cast<std::int64_t>(bytes.size());
  rows.bad += bad;
  if (source.is_new) {
    return rows.sources.Add({source.id, place_.cluster.empty() ? place_.fallback : place_.cluster,
                             place_.node, place_.file, end, rows.records - records, bad, newest_t_ns});
  }
  Statement advance = db.Prepare(
      "UPDATE source SET offset = ?2, records = records + ?3, bad = bad + ?4,"
      " newest_t_ns = CASE WHEN ?5 IS NULL THEN newest_t_ns ELSE max(coalesce(newest_t_ns, ?5), ?5) END"
      " WHERE id = ?1");
  advance.Bind(1, source.id).Bind(2, end);
  advance.Bind(3, rows.records - records).Bind(4, bad).Bind(5, newest_t_ns);
  return advance.Run();
}

}  // namespace goodput
