// Training steps in compact blocks: a step mark costs a few bytes, and appending one touches one small row.
//
// A mark is four LEB128 numbers, each the zigzag difference to the mark before it in the same block (the
// first to 0): time in ns, step number, task, byte offset of the record in its spool file.
#ifndef GOODPUT_SQL_STEP_BLOCK_H_
#define GOODPUT_SQL_STEP_BLOCK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

struct PackedStep {
  std::int64_t t_ns = 0;
  std::int64_t step = 0;
  std::int64_t task = 0;
  std::int64_t offset = 0;
};

// Blocks are closed at this many marks, so that appending stays cheap and a reader can skip.
inline constexpr std::int64_t kMarksPerBlock = 1024;

// And when the writer's clock was set by more than this: a block has one clock.
inline constexpr std::int64_t kClockStepNs = 50'000'000;

// Appends `step` to `data`, packed against `before` (default-constructed for the first of a block).
void PackStep(const PackedStep& before, const PackedStep& step, std::string& data);

// False, with what could be read, when the bytes end inside a mark.
bool UnpackSteps(std::string_view data, std::vector<PackedStep>& steps);

}  // namespace goodput

#endif  // GOODPUT_SQL_STEP_BLOCK_H_
