// The stored steps of a run for the timeline, which reads the contents of a block only when needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sql/database.h"
#include "sql/tables/evidence.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// A Slurm step's name as a number; kNoStep if it is not a step.
std::int32_t StepCode(std::string_view slurm_step);
// The reverse; empty for kNoStep.
std::string StepText(std::int32_t slurm_step);

// Reads blocks from the database on demand and converts them to the corrected clock. The database must
// outlive it. A block that can no longer be read has no marks: the timeline then uses the block's ends.
class StoredSteps : public StepReader {
 public:
  explicit StoredSteps(Database& db) : db_(db) {}

  // `source`: index of the block's source in RunFacts::sources; `shift`: how far its times were moved.
  StepBlock Add(StepBlockRow row, std::int32_t source, Ns shift);
  std::vector<StepMark> Read(const StepBlock& block) const override;

 private:
  struct Stored {
    StepBlockRow row;  // without its histogram
    std::int32_t source;
    Ns shift;
  };
  Database& db_;
  std::vector<Stored> blocks_;
};

}  // namespace goodput
