// Turns what an exporter says now and then into what the GPUs of each job did in between. Pure.
//
// The time between two readings in a row belongs to the job that has the GPU at both. Shares are those of the
// later reading, energy is the difference. If readings are missing in between, their time is unknown.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tools/goodputd/gpu_use/exporter_text.h"
#include "tools/goodputd/node_jobs.h"

namespace goodput {

// One record (SPOOL_FORMAT.md, gpu_use): consecutive times of a job on a node. The arrays have the length of
// `ms` or are empty.
struct GpuUseRecord {
  std::shared_ptr<const NodeJob> job;
  std::int64_t end_ms = 0;  // of the last time, CLOCK_MONOTONIC
  std::int64_t gpus = 0;
  std::vector<std::int64_t> ms;
  std::vector<std::int64_t> busy;  // ten-thousandths, like the next two
  std::vector<std::int64_t> util;
  std::vector<std::int64_t> tensor;
  std::vector<std::int64_t> mj;
  std::optional<std::int64_t> memory_mib;
  std::optional<std::int64_t> memory_of_mib;
};

class GpuUseFold {
 public:
  // Readings that are further apart than one and a half times `interval` are not of one time.
  explicit GpuUseFold(absl::Duration interval) : interval_(interval) {}

  struct OwnedReading {
    std::int64_t at_ms = 0;  // CLOCK_MONOTONIC
    ExporterReading reading;
    std::vector<std::shared_ptr<const NodeJob>> owners;  // by GPU of the reading; null: nobody's
  };
  // The records that this one completes.
  std::vector<GpuUseRecord> Add(OwnedReading now);
  // The rest.
  std::vector<GpuUseRecord> Finish();

  static constexpr std::size_t kMostTimes = 10;  // of a record

 private:
  using Key = std::tuple<std::string, std::int64_t, std::int64_t>;  // node, job, its first record
  std::map<Key, GpuUseRecord> TimesBetween(const OwnedReading& before, const OwnedReading& now) const;

  absl::Duration interval_;
  std::optional<OwnedReading> last_;
  std::map<Key, GpuUseRecord> open_;
};

}  // namespace goodput
