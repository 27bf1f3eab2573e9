#include "sql/tables/record_blocks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "spank/event.h"
#include "sql/blocks/record_pack.h"
#include "sql/blocks/record_summary.h"
#include "sql/blocks/record_template.h"
#include "sql/status_macros.h"
#include "sql/tables/source.h"
#include "sql/text.h"

namespace goodput {
namespace {

// The template by which a reader finds the event's time and kind. Absent: there is none.
std::optional<RecordTemplate> TemplateOf(const OldEvent& from, std::vector<std::int64_t>& numbers) {
  std::optional<RecordTemplate> shape = RecordTemplate::Of(from.event.record, from.node, numbers);
  const std::optional<std::size_t> t = shape ? shape->NumberOf(key::kTime) : std::nullopt;
  if (!t || numbers[*t] != from.event.t_ns || KindOf(*shape) != from.event.kind) return std::nullopt;
  return shape;
}

std::string Packed(const std::vector<OldEvent>& events, bool compressed) {
  std::vector<std::int64_t> numbers;
  std::map<std::string, std::pair<RecordTemplate, std::size_t>> shapes;
  RecordPacker packer;
  for (const OldEvent& from : events) {
    const EventRow& event = from.event;
    packer.SetFile(event.source_id, from.node, from.boot);
    std::optional<RecordTemplate> shape = TemplateOf(from, numbers);
    if (!shape) {
      packer.AddText(event.offset, event.t_ns, event.kind, event.record);
      continue;
    }
    const std::string text = shape->text();
    const auto [known, fresh] = shapes.try_emplace(text, *std::move(shape), 0);
    if (fresh) known->second.second = packer.AddShape(known->second.first);
    packer.Add(known->second.second, event.offset, numbers.data());
  }
  return compressed ? packer.FinishCompressed() : packer.Finish();
}

absl::StatusOr<std::vector<OldEvent>> EventsOfBlock(const Database& db, std::int64_t job_id,
                                                    std::string_view data) {
  std::vector<OldEvent> events;
  RecordUnpacker records(data);
  while (records.Next()) {
    events.push_back(
        {{records.source_id(), records.offset(), records.t_ns(), std::string(records.kind()), std::string()},
         std::string(records.node()),
         std::string(records.boot())});
    records.AppendText(events.back().event.record);
  }
  if (!records.good())
    return absl::DataLossError(Cat(db.path(), ": a record block of job ", job_id, " is damaged"));
  return events;
}

bool ReadsBack(const Database& db, std::int64_t job_id, const std::vector<OldEvent>& events,
               std::string_view data) {
  const absl::StatusOr<std::vector<OldEvent>> read = EventsOfBlock(db, job_id, data);
  const auto all = [](const OldEvent& from) {
    const EventRow& event = from.event;
    return std::tie(event.source_id, event.offset, event.t_ns, event.kind, event.record, from.node);
  };
  return read.ok() && std::equal(events.begin(), events.end(), read->begin(), read->end(),
                                 [&](const OldEvent& a, const OldEvent& b) { return all(a) == all(b); });
}

RecordBlock BlockOf(std::int64_t job_id, const std::string& cluster, const std::vector<OldEvent>& events) {
  const auto [first, last] =
      std::minmax_element(events.begin(), events.end(),
                          [](const OldEvent& a, const OldEvent& b) { return a.event.t_ns < b.event.t_ns; });
  RecordBlock block;
  block.job_id = job_id;
  block.cluster = cluster;
  block.records = static_cast<std::int64_t>(events.size());
  block.first_t_ns = first->event.t_ns;
  block.last_t_ns = last->event.t_ns;
  return block;
}

absl::StatusOr<std::vector<OldEvent>> RowsOfSaves(Database& db, std::int64_t job_id,
                                                  const std::string& cluster) {
  constexpr std::int64_t kMost = 4096;
  Statement rows = db.Prepare(
      "SELECT event.source_id, event.offset, event.t_ns, event.kind, event.record, source.node, source.file"
      " FROM event CROSS JOIN source ON source.id = event.source_id AND source.cluster = ?2"
      " WHERE event.job_id = ?1 AND kind = 'mark' AND instr(record, '\"mark\":\"checkpoint\"') > 0"
      " ORDER BY event.t_ns, event.source_id, event.offset LIMIT ?3");
  rows.Bind(1, job_id).Bind(2, cluster).Bind(3, kMost);
  std::vector<OldEvent> events;
  std::vector<std::int64_t> numbers;
  bool ended = false;
  while (rows.Step()) {
    OldEvent event{{rows.Int(0), rows.Int(1), rows.Int(2), rows.Text(3), rows.Text(4)},
                   rows.Text(5),
                   std::string(BootOf(rows.Bytes(6)))};
    ended = event.event.record.find(R"("edge":"end")") != std::string::npos;
    if (TemplateOf(event, numbers)) events.push_back(std::move(event));
  }
  if (!rows.status().ok()) return rows.status();
  if (!ended && !events.empty()) events.pop_back();
  return events;
}

// The events as the data of a summary. What it stands for is about to be deleted: so it must come back,
// before and not after.
absl::StatusOr<std::string> Summary(const Database& db, std::int64_t job_id, std::vector<OldEvent> events,
                                    bool compressed) {
  for (OldEvent& from : events) from.event.record = SummaryOfRecord(from.event.record, from.event.kind);
  std::string data = Packed(events, compressed);
  if (!ReadsBack(db, job_id, events, data))
    return absl::InternalError(Cat("a summary of job ", job_id, " does not read back; nothing was removed"));
  return data;
}

}  // namespace

absl::Status StoreRecordBlock(Database& db, const RecordBlock& block) {
  Statement store = db.Prepare(
      "INSERT INTO record_block (job_id, cluster, records, first_t_ns, last_t_ns, made_s, by_time, data)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  store.Bind(1, block.job_id).Bind(2, block.cluster).Bind(3, block.records);
  store.Bind(4, block.first_t_ns).Bind(5, block.last_t_ns).Bind(6, block.made_s);
  store.Bind(7, std::int64_t{block.by_time}).BindBlob(8, block.data);
  return store.Run();
}

absl::Status DeleteRows(Database& db, const std::vector<OldEvent>& events) {
  Statement row = db.Prepare("DELETE FROM event WHERE source_id = ?1 AND offset = ?2");
  for (const OldEvent& from : events) {
    row.Bind(1, from.event.source_id).Bind(2, from.event.offset);
    RETURN_IF_ERROR(row.Run());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> PackRowsOfSaves(Database& db, std::int64_t job_id, const std::string& cluster) {
  ASSIGN_OR_RETURN(const std::vector<OldEvent> events, RowsOfSaves(db, job_id, cluster));
  if (events.empty()) return 0;
  RecordBlock block = BlockOf(job_id, cluster, events);
  block.data = Packed(events, false);
  // They stay rows, which says the same.
  if (!ReadsBack(db, job_id, events, block.data)) return 0;
  RETURN_IF_ERROR(StoreRecordBlock(db, block));
  RETURN_IF_ERROR(DeleteRows(db, events));
  return block.records;
}

absl::Status AddSummary(Database& db, std::int64_t job_id, const std::string& cluster,
                        std::vector<OldEvent> events, std::int64_t made_s) {
  if (events.empty()) return absl::OkStatus();
  RecordBlock block = BlockOf(job_id, cluster, events);
  block.made_s = made_s;
  block.by_time = true;
  ASSIGN_OR_RETURN(block.data, Summary(db, job_id, std::move(events), true));
  return StoreRecordBlock(db, block);
}

absl::StatusOr<std::int64_t> SummarizeBlock(Database& db, std::int64_t job_id, std::int64_t made_s) {
  Statement row = db.Prepare(
      "SELECT rowid, data FROM record_block WHERE job_id = ?1 AND made_s IS NULL"
      " ORDER BY first_t_ns LIMIT 1");
  row.Bind(1, job_id);
  if (!row.Step()) {
    if (!row.status().ok()) return row.status();
    return 0;
  }
  const std::int64_t id = row.Int(0);
  ASSIGN_OR_RETURN(std::vector<OldEvent> events, EventsOfBlock(db, job_id, row.Bytes(1)));
  row.Reset();
  const auto records = static_cast<std::int64_t>(events.size());
  ASSIGN_OR_RETURN(const std::string data, Summary(db, job_id, std::move(events), false));
  Statement store = db.Prepare("UPDATE record_block SET data = ?2, made_s = ?3 WHERE rowid = ?1");
  store.Bind(1, id).BindBlob(2, data).Bind(3, made_s);
  RETURN_IF_ERROR(store.Run());
  return records;
}

absl::StatusOr<std::optional<std::int64_t>> SummarizedSince(Database& db, const std::vector<JobKey>& jobs) {
  std::optional<std::int64_t> since;
  for (const JobKey& job : jobs) {
    Statement rows =
        db.Prepare("SELECT min(made_s) FROM record_block WHERE job_id = ?1 AND cluster IN (?2, '')");
    rows.Bind(1, job.job_id).Bind(2, job.cluster);
    const std::optional<std::int64_t> made = rows.Step() ? rows.OptionalInt(0) : std::nullopt;
    if (!rows.status().ok()) return rows.status();
    if (made) since = std::min(since.value_or(*made), *made);
  }
  return since;
}

}  // namespace goodput
