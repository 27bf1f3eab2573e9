// Steps as the database has them, for the timeline: blocks it may never look into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sql/database.h"
#include "sql/tables/evidence.h"
#include "tools/accounting/timeline/facts.h"

namespace goodput {

// Slurm's name of a step as a number; kNoStep for what is none.
std::int32_t StepCode(std::string_view slurm_step);
// And back; empty for kNoStep.
std::string StepText(std::int32_t slurm_step);

// Reads blocks out of the database when they are asked for, by the clock they were corrected to. The database
// must outlive it. What cannot be read any more is no marks: the timeline goes on with the blocks' ends.
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
