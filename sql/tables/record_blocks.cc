#include "sql/tables/record_blocks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "spank/event.h"
#include "sql/blocks/record_pack.h"
#include "sql/blocks/record_template.h"
#include "sql/status_macros.h"
#include "sql/tables/summary_pack.h"
#include "sql/text.h"

namespace goodput {
namespace {

absl::Status DamagedRecords(const Database& db, std::int64_t job_id) {
  return absl::DataLossError(Cat(db.path(), ": a record block of job ", job_id, " is damaged"));
}

// What a summary keeps of it, and its time.
std::string SummaryWithTime(const EventRow& event) {
  const std::string kept = SummaryOfRecord(event);
  return Cat("{\"", key::kTime, "\":", event.t_ns, kept.size() > 2 ? "," : "",
             std::string_view(kept).substr(1));
}

// The events as a block; absent: one of them has no shape.
std::optional<std::string> Packed(const std::vector<EventRow>& events, RecordUnpacker& files) {
  std::vector<std::int64_t> numbers;
  std::map<std::string, std::pair<RecordTemplate, std::size_t>> shapes;
  RecordPacker packer;
  for (const EventRow& event : events) {
    if (!files.Next()) return std::nullopt;
    std::optional<RecordTemplate> shape = RecordTemplate::Of(event.record, files.node(), numbers);
    if (!shape) return std::nullopt;
    packer.SetFile(event.source_id, files.node(), files.boot());
    const std::string text = shape->text();
    const auto [known, fresh] = shapes.try_emplace(text, *std::move(shape), 0);
    if (fresh) known->second.second = packer.AddShape(known->second.first);
    packer.Add(known->second.second, event.offset, numbers.data());
  }
  return packer.Finish();
}

}  // namespace

absl::Status StoreRecordBlock(Database& db, const RecordBlock& block) {
  Statement store = db.Prepare(
      "INSERT INTO record_block (job_id, cluster, records, first_t_ns, last_t_ns, made_s, data)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  store.Bind(1, block.job_id).Bind(2, block.cluster).Bind(3, block.records);
  store.Bind(4, block.first_t_ns).Bind(5, block.last_t_ns).Bind(6, block.made_s).BindBlob(7, block.data);
  return store.Run();
}

absl::StatusOr<std::vector<EventRow>> EventsOfBlock(const Database& db, std::int64_t job_id,
                                                    std::string_view data) {
  std::vector<EventRow> events;
  RecordUnpacker records(data);
  while (records.Next()) {
    events.push_back({records.source_id(), records.offset(), records.t_ns(),
                      KindOf(records.shapes()[records.shape()]), std::string()});
    records.AppendText(events.back().record);
  }
  if (!records.good()) return DamagedRecords(db, job_id);
  return events;
}

absl::StatusOr<std::int64_t> SummarizeBlock(Database& db, std::int64_t job_id, std::int64_t made_s) {
  Statement row = db.Prepare(
      "SELECT rowid, data FROM record_block WHERE job_id = ?1 AND made_s IS NULL ORDER BY first_t_ns LIMIT "
      "1");
  row.Bind(1, job_id);
  if (!row.Step()) {
    if (!row.status().ok()) return row.status();
    return 0;
  }
  const std::int64_t id = row.Int(0);
  const std::string data(row.Bytes(1));
  row.Reset();
  ASSIGN_OR_RETURN(std::vector<EventRow> events, EventsOfBlock(db, job_id, data));
  for (EventRow& event : events) event.record = SummaryWithTime(event);
  RecordUnpacker files(data);
  const std::optional<std::string> packed = Packed(events, files);
  // What it stands for is about to be gone: so it must come back, before and not after.
  absl::StatusOr<std::vector<EventRow>> read = absl::StatusOr<std::vector<EventRow>>(std::vector<EventRow>{});
  if (packed) read = EventsOfBlock(db, job_id, *packed);
  const auto same = [](const EventRow& a, const EventRow& b) {
    return a.source_id == b.source_id && a.offset == b.offset && a.t_ns == b.t_ns && a.kind == b.kind &&
           a.record == b.record;
  };
  if (!packed || !read.ok() || read->size() != events.size() ||
      !std::equal(events.begin(), events.end(), read->begin(), same)) {
    return absl::InternalError(Cat("a summary of job ", job_id, " does not read back; nothing was removed"));
  }
  Statement store = db.Prepare("UPDATE record_block SET data = ?2, made_s = ?3 WHERE rowid = ?1");
  store.Bind(1, id).BindBlob(2, *packed).Bind(3, made_s);
  RETURN_IF_ERROR(store.Run());
  return static_cast<std::int64_t>(events.size());
}

}  // namespace goodput
