// One spool file, and what becomes of its lines: rows, within the transaction of whoever asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sql/database.h"
#include "sql/ingest/hook_rows.h"
#include "sql/ingest/line_templates.h"
#include "sql/ingest/new_events.h"
#include "sql/ingest/new_sources.h"
#include "sql/tables/job_index.h"
#include "sql/tables/source.h"
#include "sql/tables/step_store.h"

namespace goodput {

// What the lines of one transaction become, of whatever files. All that was given to it must stay until
// Flush.
struct NewRows {
  // `checked`: the database refuses rows of a source that is not there yet. `alone`: nobody else has written
  // to the database since the files were looked for in it. `memory`: of the passes, or null.
  NewRows(Database& db, bool checked_, bool alone_, SpoolMemory* memory_)
      : events(db), hooks(db, events), sources(db), checked(checked_), alone(alone_), memory(memory_) {}
  absl::Status Flush(Database& db);

  NewEvents events;
  HookRows hooks;
  NewSources sources;
  SeenJobs seen;
  const bool checked;
  const bool alone;
  SpoolMemory* const memory;
  std::int64_t records = 0;
  std::int64_t bytes = 0;
  std::int64_t bad = 0;
};

class FileIngest {
 public:
  // Where a file is. `cluster`: that it names, or empty; `fallback`: that of a spool whose files name none.
  // What they are views of stays as long as it is asked.
  struct Place {
    std::string cluster;
    std::string_view fallback;
    std::string_view node;
    std::string file;
  };
  explicit FileIngest(Place place) : place_(std::move(place)) {}
  // Of which nothing was in the database when it was looked for.
  static FileIngest OfNew(Place place) {
    FileIngest file(std::move(place));
    file.is_new_ = true;
    return file;
  }

  const Place& place() const { return place_; }
  void NameCluster(std::string cluster) { place_.cluster = std::move(cluster); }
  // How far the file was taken, by whoever took it.
  absl::StatusOr<std::int64_t> Offset(Database& db) const;
  // Stores the lines of `bytes`, which are at `begin`, behind what was taken of them meanwhile by another.
  absl::Status Take(Database& db, std::string_view bytes, std::int64_t begin, LineTemplates& parser,
                    NewRows& rows) const;

 private:
  absl::StatusOr<Source> FindOrMakeSource(Database& db, NewRows& rows) const;
  absl::Status TakeLine(const SpoolLine& record, const Source& source, std::int64_t offset,
                        const LineTemplates& parser, StepStore& steps, NewRows& rows) const;

  Place place_;
  bool is_new_ = false;
};

}  // namespace goodput
