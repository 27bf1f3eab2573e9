#include "sql/tables/event_cursor.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "spank/event.h"
#include "sql/tables/source.h"
#include "sql/text.h"

namespace goodput {
namespace {

// The job or kind comes first, for a cluster has thousands of files, and of the watch its few files: CROSS
// keeps SQLite from another order.
std::string MakeSql(const EventsOf& which) {
  std::string sql =
      "SELECT event.source_id, event.offset, event.t_ns, event.kind, event.record, event.job_id, source.node,"
      " source.file FROM ";
  sql += which.watch ? "source CROSS JOIN event" : "event CROSS JOIN source";
  sql += " ON source.id = event.source_id AND (?1 IS NULL OR source.cluster IN (?1, '')) WHERE ";
  if (which.watch) {
    sql += "source.node = '@controller'";
  } else {
    sql += which.job_id ? "event.job_id = ?2" : "event.job_id IS NULL";
  }
  sql += " AND event.t_ns >= ?3 AND event.t_ns < ?4";
  for (std::size_t i = 0; i < which.kinds.size(); ++i)
    sql += Cat(i == 0 ? " AND event.kind IN (?" : ", ?", i + 5);
  if (!which.kinds.empty()) sql += ")";
  return sql + " ORDER BY event.t_ns, event.source_id, event.offset";
}

std::string SqlOf(const EventsOf& which) {
  if (!which.kinds.empty() || which.watch || !which.job_id) return MakeSql(which);
  static const std::string all_of_a_job = MakeSql(which);  // asked for once for each job of a report
  return all_of_a_job;
}

constexpr std::size_t kMostKept = 200;  // rows, of at most 4 KiB each (SPOOL_FORMAT.md)

// `m` of a record that begins as the format has it, {"v":1,"t":1767225600000000000,"m":5, without parsing it;
// absent: it begins otherwise.
std::optional<std::int64_t> LeadingMono(std::string_view record) {
  absl::string_view rest = ToAbsl(record);
  if (!absl::ConsumePrefix(&rest, R"({"v":1,"t":)")) return std::nullopt;
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of("0123456789")));
  if (!absl::ConsumePrefix(&rest, R"(,"m":)")) return std::nullopt;
  const std::size_t end = rest.find_first_not_of("0123456789");
  std::int64_t m = 0;
  if (end == absl::string_view::npos || rest[end] != ',' || !absl::SimpleAtoi(rest.substr(0, end), &m))
    return std::nullopt;
  return m;
}

auto PlaceOf(const EventRow& event) {
  return std::tie(event.t_ns, event.source_id, event.offset);
}

}  // namespace

EventsOf EventsOf::Job(const JobKey& job, std::vector<std::string> kinds) {
  EventsOf events;
  events.cluster = job.cluster;
  events.job_id = job.job_id;
  events.kinds = std::move(kinds);
  std::tie(events.from_ns, events.until_ns) = TimesOf(job);
  return events;
}

EventsOf EventsOf::NoJob(const std::string& cluster, std::string_view kind, std::int64_t from_ns,
                         std::int64_t until_ns) {
  return {cluster, std::nullopt, {std::string(kind)}, false, false, from_ns, until_ns};
}

EventsOf EventsOf::Watch(const std::string& cluster, std::string_view kind, std::int64_t from_ns,
                         std::int64_t until_ns) {
  return {cluster, std::nullopt, {std::string(kind)}, false, true, from_ns, until_ns};
}

std::optional<std::size_t> EventView::NumberOf(std::string_view key) const {
  for (const Shape::Asked& asked : in_common_->asked) {
    if (asked.at == key.data() && asked.key == key) return asked.number;
  }
  const std::optional<std::size_t> number = block_->shapes()[block_->shape()].NumberOf(key);
  in_common_->asked.push_back({key.data(), std::string(key), number});
  return number;
}

const RecordReader& EventView::Parsed() const {
  if (in_common_ != nullptr) return in_common_->text;
  if (*reader_ == nullptr) {
    *reader_ = std::make_unique<RecordReader>();
    (*reader_)->Parse(record_);
  }
  return **reader_;
}

std::optional<std::int64_t> EventView::Int(std::string_view key) const {
  if (in_common_ == nullptr) return Parsed().Int(key);
  const std::optional<std::size_t> number = NumberOf(key);
  return number ? std::optional(block_->number(*number)) : std::nullopt;
}

std::optional<std::int64_t> EventView::Mono() const {
  const std::optional<std::int64_t> m = in_common_ == nullptr ? LeadingMono(record_) : std::nullopt;
  return m ? m : Int(key::kMonotonic);
}

std::string EventView::Text(std::string_view key) const {
  return key == key::kNode && in_common_ != nullptr ? std::string(node) : Parsed().Text(key);
}

std::vector<std::string> EventView::Texts(std::string_view key) const {
  return Parsed().Texts(key);
}

bool EventView::HasOpt() const {
  return Parsed().HasOpt();
}

void EventView::AppendRecord(std::string& text) const {
  if (in_common_ != nullptr) {
    block_->AppendText(text);
  } else {
    text += record_;
  }
}

std::string EventView::Record() const {
  std::string text;
  AppendRecord(text);
  return text;
}

EventCursor::EventCursor(Database& db, EventsOf which)
    : db_(db), which_(std::move(which)), rows_(db.Prepare(SqlOf(which_))) {
  if (which_.cluster) rows_.BindView(1, *which_.cluster);
  if (which_.job_id) rows_.Bind(2, *which_.job_id);
  rows_.Bind(3, which_.from_ns).Bind(4, which_.until_ns);
  for (std::size_t i = 0; i < which_.kinds.size(); ++i) rows_.Bind(static_cast<int>(i) + 5, which_.kinds[i]);
}

bool EventCursor::Wanted(std::string_view kind) const {
  return which_.kinds.empty() ||
         std::find(which_.kinds.begin(), which_.kinds.end(), kind) != which_.kinds.end();
}

bool EventCursor::Next() {
  if (rows_over_) return NextOfBlock();
  event_.own_.reset();
  event_.reader_ = &event_.own_;
  if (status_.ok() && NextRow()) return true;
  rows_over_ = status_.ok();
  return rows_over_ && NextOfBlock();
}

void EventCursor::SetPlace(std::string_view node, std::string_view file) {
  event_.node = node;
  event_.file = file;
  event_.boot = BootOf(file);
}

const EventCursor::Source& EventCursor::SourceOf(std::int64_t id) {
  const auto [found, fresh] = sources_.try_emplace(id);
  if (fresh) {
    absl::StatusOr<SourceRow> row = LoadSource(db_, id);
    if (row.ok()) {
      found->second = {std::move(row->node), std::move(row->file)};
    } else {
      status_ = row.status();
    }
  }
  return found->second;
}

// Of all blocks, those of records by time, or those of hooks, have their data.
Statement EventCursor::Blocks(bool by_time) {
  Statement blocks = db_.Prepare(
      "SELECT CASE WHEN by_time = ?5 THEN data END FROM record_block"
      " WHERE job_id = ?2 AND (?1 IS NULL OR cluster IN (?1, ''))"
      " AND last_t_ns >= ?3 AND first_t_ns < ?4 ORDER BY cluster, first_t_ns, rowid");
  if (which_.cluster) blocks.BindView(1, *which_.cluster);
  blocks.Bind(2, *which_.job_id).Bind(3, which_.from_ns).Bind(4, which_.until_ns);
  blocks.Bind(5, std::int64_t{by_time});
  return blocks;
}

void EventCursor::Damaged() {
  status_ = absl::DataLossError(Cat(db_.path(), ": a record block of job ", *which_.job_id, " is damaged"));
}

void EventCursor::LoadSummarized() {
  if (!which_.job_id) return;
  no_blocks_ = true;
  if (which_.no_blocks) return;
  Statement blocks = Blocks(true);
  while (blocks.Step()) {
    if (blocks.IsNull(0)) {
      no_blocks_ = false;
      continue;
    }
    RecordUnpacker records(blocks.Bytes(0));
    while (records.Next()) {
      const std::int64_t t_ns = records.t_ns();
      if (t_ns < which_.from_ns || t_ns >= which_.until_ns || !Wanted(records.kind())) continue;
      summarized_.push_back({records.source_id(), records.offset(), t_ns, std::string(records.kind()), ""});
      records.AppendText(summarized_.back().record);
    }
    if (!records.good()) return Damaged();
  }
  status_ = blocks.status();
  std::stable_sort(summarized_.begin(), summarized_.end(),
                   [](const EventRow& a, const EventRow& b) { return PlaceOf(a) < PlaceOf(b); });
  summarized_.erase(
      std::unique(summarized_.begin(), summarized_.end(),
                  [](const EventRow& a, const EventRow& b) { return PlaceOf(a) == PlaceOf(b); }),
      summarized_.end());
}

void EventCursor::Rewind() {
  if (!kept_all_) {
    rows_.Reset();
    kept_.clear();
  }
  next_row_ = 0;
  given_ = 0;
  row_there_ = false;
  row_given_ = true;
  rows_over_ = false;
  block_.reset();
  blocks_.reset();
  event_.shape = EventView::kNoShape;
  event_.block_ = nullptr;
  event_.in_common_ = nullptr;
}

void EventCursor::Keep(const RowView& row) {
  keeping_ = kept_.size() < kMostKept;
  if (!keeping_) return kept_.clear();
  const auto [t_ns, source_id, offset] = row.place;
  kept_.push_back({{source_id, offset, t_ns, std::string(row.kind), std::string(row.record)},
                   row.job_id,
                   {std::string(row.node), std::string(row.file)},
                   nullptr});
}

// To the next row, from those that are kept or from the database.
void EventCursor::StepRow() {
  if (kept_all_) {
    row_there_ = next_row_ < kept_.size();
    if (!row_there_) return;
    Row& row = kept_[next_row_++];
    row_ = {PlaceOf(row.event), row.job_id,      row.event.kind, row.event.record,
            row.source.node,    row.source.file, &row.reader};
    return;
  }
  row_there_ = rows_.Step();
  if (!rows_.status().ok()) status_ = rows_.status();
  if (!row_there_) {
    kept_all_ = keeping_ && status_.ok();
    next_row_ = kept_.size();
    return;
  }
  row_ = {{rows_.Int(2), rows_.Int(0), rows_.Int(1)},
          rows_.OptionalInt(5),
          rows_.Bytes(3),
          rows_.Bytes(4),
          rows_.Bytes(6),
          rows_.Bytes(7),
          nullptr};
  if (keeping_) Keep(row_);
  if (keeping_) row_.reader = &kept_.back().reader;
}

// Rows and what is summarized, by time. Of an event that is in both the row, which says more.
bool EventCursor::NextRow() {
  if (std::exchange(row_given_, false)) StepRow();
  // Once the rows are being read: what is summarized in between is in both then, and not in neither.
  if (!std::exchange(summaries_read_, true) && status_.ok()) LoadSummarized();
  if (!status_.ok()) return false;
  if (row_there_ && given_ < summarized_.size() && row_.place == PlaceOf(summarized_[given_])) ++given_;
  if (given_ < summarized_.size() && (!row_there_ || PlaceOf(summarized_[given_]) < row_.place)) {
    const EventRow& old = summarized_[given_++];
    std::tie(event_.t_ns, event_.source_id, event_.offset) = PlaceOf(old);
    event_.job_id = which_.job_id;
    event_.kind = old.kind;
    event_.record_ = old.record;
    const Source& source = SourceOf(old.source_id);
    SetPlace(source.node, source.file);
    return status_.ok();
  }
  if (!row_there_) return false;
  row_given_ = true;
  std::tie(event_.t_ns, event_.source_id, event_.offset) = row_.place;
  event_.kind = row_.kind;
  event_.record_ = row_.record;
  event_.job_id = row_.job_id;
  if (row_.reader != nullptr) event_.reader_ = row_.reader;
  SetPlace(row_.node, row_.file);
  return true;
}

const EventView::Shape* EventCursor::ShapeOf(const RecordTemplate& text) {
  const auto known = shapes_.find(text.text());
  if (known != shapes_.end()) return known->second.get();
  auto shape = std::make_unique<EventView::Shape>();
  shape->number = shapes_.size();
  const std::array<std::int64_t, RecordTemplate::kMostNumbers> numbers{};
  std::string record;
  text.Write("node", numbers.data(), record);
  shape->text.Parse(record);
  shape->kind = shape->text.Text(key::kKind);
  return shapes_.emplace(text.text(), std::move(shape)).first->second.get();
}

bool EventCursor::OpenBlock() {
  if (!blocks_) blocks_ = Blocks(false);
  block_.reset();
  bool there = blocks_->Step();
  while (there && blocks_->IsNull(0)) there = blocks_->Step();
  if (!there) {
    status_ = blocks_->status();
    return false;
  }
  block_.emplace(blocks_->Bytes(0));
  of_block_.clear();
  for (const RecordTemplate& text : block_->shapes()) {
    const EventView::Shape* shape = ShapeOf(text);
    of_block_.push_back(Wanted(shape->kind) ? shape : nullptr);
  }
  return true;
}

bool EventCursor::NextOfBlock() {
  if (!which_.job_id || no_blocks_) return false;
  while (block_ || OpenBlock()) {
    // All of its records have templates: those that have none are in blocks that are read by time.
    while (block_->Next() && block_->shape() != RecordUnpacker::kNoShape) {
      const EventView::Shape* shape = of_block_[block_->shape()];
      const std::int64_t t_ns = block_->t_ns();
      if (shape == nullptr || t_ns < which_.from_ns || t_ns >= which_.until_ns) continue;
      event_.t_ns = t_ns;
      event_.source_id = block_->source_id();
      event_.offset = block_->offset();
      event_.job_id = which_.job_id;
      event_.kind = shape->kind;
      event_.node = block_->node();
      event_.boot = block_->boot();
      event_.file = {};
      event_.shape = shape->number;
      event_.block_ = &*block_;
      event_.in_common_ = shape;
      return true;
    }
    if (!block_->good() || block_->shape() == RecordUnpacker::kNoShape) {
      Damaged();
      return false;
    }
    block_.reset();
  }
  return false;
}

}  // namespace goodput
