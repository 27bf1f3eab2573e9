// Training steps in compact blocks: a step mark costs about three bytes, and appending one touches one small
// row. A block is compressed frames of kMarksPerFrame marks, and behind them a tail of fewer.
// docs/formats/step_block.md describes the bytes.
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
inline constexpr std::size_t kMarksPerFrame = 2048;

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
