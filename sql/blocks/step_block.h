// Training steps in compact blocks: a step mark costs about three bytes, and appending one touches one small
// row. docs/formats/step_block.md describes the bytes.
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

// Appends `steps`, at most kMarksPerFrame, as one frame. `before`: the mark before them in the block;
// default-constructed for the first.
void PackFrame(const PackedStep& before, const std::vector<PackedStep>& steps, std::string& data);

// The size of the full frames that a block begins with.
std::size_t FullFrames(std::string_view data);

// The marks of a block. False, with what could be read, when the bytes are not whole frames.
bool UnpackSteps(std::string_view data, std::vector<PackedStep>& steps);

}  // namespace goodput
