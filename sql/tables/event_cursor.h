// One way to read what happened, whatever form it is kept in.
//
// An event is what one record of a spool says: when, of which kind, and members that a reader asks for by
// name. The file it was written to and its offset in it are its identity. The store keeps it as a row of
// `event`, or among its like in a `record_block`; a cursor goes through all of them, and no reader knows
// which one an event was in. The events of a job come by time, each once; only hooks' records out of blocks
// come after all others and in no order, for they are millions, of which the cursor holds one. Their text is
// parsed once for all that differ in nothing but numbers and the node: these have the same `shape`, and what
// a reader makes of their text it makes once, too (ByShape).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "sql/blocks/record_pack.h"
#include "sql/database.h"
#include "sql/record.h"
#include "sql/tables/evidence.h"
#include "sql/tables/jobs.h"

namespace goodput {

// Which events.
struct EventsOf {
  std::optional<std::string> cluster;  // of its files, and of those of which no record names one
  std::optional<std::int64_t> job_id;  // absent: those of no job, unless `watch`
  std::vector<std::string> kinds;      // empty: all
  bool no_blocks = false;              // the job is known to have none (ClusterReader::AnyBlocks)
  bool watch = false;                  // what the controller's watch said, of any job
  std::int64_t from_ns = std::numeric_limits<std::int64_t>::min();  // [from_ns, until_ns)
  std::int64_t until_ns = std::numeric_limits<std::int64_t>::max();

  static EventsOf Job(const JobKey& job, std::vector<std::string> kinds = {});
  static EventsOf NoJob(const std::string& cluster, std::string_view kind, std::int64_t from_ns,
                        std::int64_t until_ns);
  static EventsOf Watch(const std::string& cluster, std::string_view kind, std::int64_t from_ns,
                        std::int64_t until_ns);
};

// The event a cursor is at; it and its views are valid until the next one.
class EventView {
 public:
  static constexpr std::size_t kNoShape = ~std::size_t{0};

  std::int64_t t_ns = 0;
  std::int64_t source_id = 0;
  std::int64_t offset = 0;
  std::optional<std::int64_t> job_id;
  std::string_view kind;
  std::string_view node;         // whose folder it is in
  std::string_view boot;         // of the node
  std::string_view file;         // empty: its block has the boot alone; LoadSource knows
  std::size_t shape = kNoShape;  // the cursor's number of it

  // Members of the record; one of another type than asked for is absent.
  std::optional<std::int64_t> Int(std::string_view key) const;
  // Its time by the monotonic clock, `m`.
  std::optional<std::int64_t> Mono() const;
  std::string Text(std::string_view key) const;  // empty when absent
  std::vector<std::string> Texts(std::string_view key) const;
  bool HasOpt() const;  // an object `opt`
  // Appends the record, a JSON object; of a summary what that keeps of it.
  void AppendRecord(std::string& text) const;
  std::string Record() const;

 private:
  friend class EventCursor;
  // What all events of a shape have in common.
  struct Shape {
    std::string kind;
    RecordReader text;  // of one of them
    std::size_t number = 0;
    // Numbers that were asked for, and where they are: a look at a name's address takes less than one at its
    // letters.
    struct Asked {
      const char* at;
      std::string key;
      std::optional<std::size_t> number;
    };
    mutable std::vector<Asked> asked;
  };
  std::optional<std::size_t> NumberOf(std::string_view key) const;
  const RecordReader& Parsed() const;

  using Reader = std::unique_ptr<RecordReader>;

  const RecordUnpacker* block_ = nullptr;
  const Shape* in_common_ = nullptr;
  std::string_view record_;  // where it is in no block
  // What parsed it, or will; of a row that is kept the row's.
  mutable Reader own_;
  Reader* reader_ = &own_;
};

class EventCursor {
 public:
  // The database must outlive it. Who reads several times and wants the same each time holds a Snapshot.
  EventCursor(Database& db, EventsOf which);
  EventCursor(const EventCursor&) = delete;
  EventCursor& operator=(const EventCursor&) = delete;

  // False: there are no more, or status() says why not.
  bool Next();
  // Begins again, at the first event; also needs a Snapshot to find the same.
  void Rewind();
  const EventView& event() const { return event_; }
  const absl::Status& status() const { return status_; }

 private:
  struct Source {
    std::string node;
    std::string file;
  };
  // A row of `event`, kept, and as a view of one that is kept or that the statement is at.
  struct Row {
    EventRow event;
    std::optional<std::int64_t> job_id;
    Source source;
    EventView::Reader reader;
  };
  struct RowView {
    std::tuple<std::int64_t, std::int64_t, std::int64_t> place;  // t_ns, source_id, offset
    std::optional<std::int64_t> job_id;
    std::string_view kind, record, node, file;
    EventView::Reader* reader = nullptr;
  };
  bool Wanted(std::string_view kind) const;
  bool NextRow();
  void StepRow();
  void Keep(const RowView& row);
  bool NextOfBlock();
  Statement Blocks(bool by_time);
  void Damaged();
  void LoadSummarized();
  void SetPlace(std::string_view node, std::string_view file);
  const Source& SourceOf(std::int64_t id);
  bool OpenBlock();
  const EventView::Shape* ShapeOf(const RecordTemplate& text);

  Database& db_;
  const EventsOf which_;
  absl::Status status_;
  EventView event_;
  Statement rows_;
  // The rows that were read, for Rewind: most jobs have few, and to read them again takes longer than to keep
  // them. Of a job that has more than kMostKept, none.
  std::vector<Row> kept_;
  bool keeping_ = true;
  bool kept_all_ = false;     // kept_ has all rows
  std::size_t next_row_ = 0;  // of kept_
  bool no_blocks_ = false;    // there are none of hooks' records
  RowView row_;
  bool row_there_ = false;
  bool row_given_ = true;  // the next one is to be read
  bool summaries_read_ = false;
  bool rows_over_ = false;            // and what is summarized
  std::vector<EventRow> summarized_;  // by time, and how many of them were given
  std::size_t given_ = 0;
  std::map<std::int64_t, Source> sources_;
  std::optional<Statement> blocks_;
  std::optional<RecordUnpacker> block_;
  std::map<std::string, std::unique_ptr<EventView::Shape>, std::less<>> shapes_;
  std::vector<const EventView::Shape*> of_block_;  // by its numbers; null: not wanted
};

// What a reader makes of the text of events: of all of one shape once.
template <typename T>
class ByShape {
 public:
  template <typename Make>
  const T& Of(const EventView& event, Make make) {
    if (event.shape == EventView::kNoShape) return single_.emplace(make());
    if (made_.size() <= event.shape) made_.resize(event.shape + 1);
    std::optional<T>& of = made_[event.shape];
    if (!of) of = make();
    return *of;
  }

 private:
  std::optional<T> single_;
  std::vector<std::optional<T>> made_;
};

}  // namespace goodput
