// Records of which a job may have very many, on their way into the database: of slurmd's hooks, and marks of
// saves. Of one job, and one cluster, as many at once are a row each; of more, all are a block
// (record_blocks.h). Small jobs are easier to ask about, and large ones are what a database would be full of.
// Marks of saves that come a few at a time are rows until a job has thousands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sql/blocks/record_pack.h"
#include "sql/database.h"
#include "sql/ingest/line_templates.h"
#include "sql/ingest/new_events.h"
#include "sql/ingest/spool_memory.h"

namespace goodput {

class HookRows {
 public:
  HookRows(Database& db, NewEvents& events) : db_(db), events_(events) {}

  // Of one file, whose records come one after the other. These texts stay until Flush.
  struct File {
    std::string_view cluster;
    std::string_view node;
    std::string_view boot;
  };
  // A record that has a job, a shape, and the numbers of that.
  absl::Status Add(const File& file, const NewEvent& event, const LineTemplates::Shape& shape,
                   const std::int64_t* numbers);
  absl::Status Flush();
  // Once the rows are in the database: packs the saves of jobs that have many. `memory` counts them.
  absl::Status PackSaves(SpoolMemory& memory);

 private:
  struct Job {
    std::int64_t records = 0;
    std::int64_t first_t_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_t_ns = std::numeric_limits<std::int64_t>::min();
    RecordPacker packer;
    std::vector<std::size_t> shapes;  // the packer's, by LineTemplates' number, and one more
  };
  // Of a job of which it is not known yet whether there are many.
  struct Waiting {
    File file;
    NewEvent event;
    const LineTemplates::Shape* shape;
    std::size_t numbers;  // in numbers_
    Job* job;             // null: it waits no longer
  };
  using Key = std::pair<std::int64_t, std::string_view>;  // job, cluster

  Job& JobOf(std::int64_t job_id, std::string_view cluster);
  absl::Status PackWaiting(const Job& job);
  absl::Status Pack(Job& job, const File& file, const NewEvent& event, const LineTemplates::Shape& shape,
                    const std::int64_t* numbers);

  Database& db_;
  NewEvents& events_;
  std::map<Key, Job> jobs_;
  Key last_key_;
  Job* last_ = nullptr;
  std::vector<Waiting> waiting_;
  std::vector<std::int64_t> numbers_;
};

}  // namespace goodput
