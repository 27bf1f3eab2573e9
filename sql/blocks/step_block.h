// Training steps in compact blocks: a step mark costs three or four bytes, and appending one touches one
// small row.
//
// A block is frames of kMarksPerFrame marks, and behind them a tail of fewer. In the tail a mark is four
// LEB128 numbers, each the zigzag difference to the mark before it in the block (the first to 0): time in ns,
// step number, task, byte offset of the record in its spool file. A frame has the same differences by column:
// what is usual in it once, and of each mark only how far it is from that, in as many bits as most need; the
// few that need more are listed behind. Steps of a training loop differ little, so little is left of them.
#pragma once

#include <cstddef>
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
inline constexpr std::int64_t kMarksPerBlock = 4096;
inline constexpr std::size_t kMarksPerFrame = 256;

// And when the writer's clock was set by more than this: a block has one clock.
inline constexpr std::int64_t kClockStepNs = 50'000'000;

// Appends `step` to a tail, packed against `before` (default-constructed for the first of a block).
void PackStep(const PackedStep& before, const PackedStep& step, std::string& data);

// Appends `steps`, at most kMarksPerFrame, as one frame.
void PackFrame(const PackedStep& before, const std::vector<PackedStep>& steps, std::string& data);

// Reads a block whose first `framed` bytes are frames. False, with what could be read, when the bytes are not
// whole frames and marks.
bool UnpackSteps(std::string_view data, std::size_t framed, std::vector<PackedStep>& steps);

}  // namespace goodput
