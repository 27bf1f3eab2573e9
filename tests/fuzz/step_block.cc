// Fuzzes blocks of steps: any bytes as a block, and any steps in a block.
#include "sql/blocks/step_block.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/require.h"

namespace goodput {
namespace {

bool Same(const PackedStep& a, const PackedStep& b) {
  return a.t_ns == b.t_ns && a.step == b.step && a.task == b.task && a.offset == b.offset;
}

// As the store packs them: frames and a tail.
std::string PackFrames(const std::vector<PackedStep>& steps, std::size_t& framed) {
  std::string data;
  PackedStep before;
  std::size_t at = 0;
  for (; at + kMarksPerFrame <= steps.size(); at += kMarksPerFrame) {
    const auto first = steps.begin() + static_cast<std::ptrdiff_t>(at);
    PackFrame(before, {first, first + kMarksPerFrame}, data);
    before = steps[at + kMarksPerFrame - 1];
  }
  framed = data.size();
  for (; at < steps.size(); ++at) {
    PackStep(before, steps[at], data);
    before = steps[at];
  }
  return data;
}

std::string Pack(const std::vector<PackedStep>& steps) {
  std::string data;
  PackedStep before;
  for (const PackedStep& step : steps) {
    PackStep(before, step, data);
    before = step;
  }
  return data;
}

void RequireRoundTrip(const std::vector<PackedStep>& steps) {
  const std::string data = Pack(steps);
  REQUIRE(data.size() <= steps.size() * 40);
  std::vector<PackedStep> again;
  REQUIRE(UnpackSteps(data, 0, again));
  REQUIRE(again.size() == steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) REQUIRE(Same(again[i], steps[i]));
  if (data.empty()) return;
  std::vector<PackedStep> cut;
  REQUIRE(!UnpackSteps(std::string_view(data).substr(0, data.size() - 1), 0, cut));
  REQUIRE(cut.size() == steps.size() - 1);

  // The same marks repeated, to fill frames, and as one short frame.
  std::vector<PackedStep> many;
  while (many.size() < 2 * kMarksPerFrame) many.insert(many.end(), steps.begin(), steps.end());
  std::size_t framed = 0;
  const std::string frames = PackFrames(many, framed);
  std::vector<PackedStep> unframed;
  REQUIRE(UnpackSteps(frames, framed, unframed));
  REQUIRE(unframed.size() == many.size());
  for (std::size_t i = 0; i < many.size(); ++i) REQUIRE(Same(unframed[i], many[i]));
}

}  // namespace
}  // namespace goodput

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  std::vector<PackedStep> steps;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  UnpackSteps(bytes, size, steps);
  REQUIRE(steps.size() <= size * kMarksPerFrame);
  steps.clear();
  UnpackSteps(bytes, 0, steps);
  REQUIRE(steps.size() <= size / 4);
  RequireRoundTrip(steps);

  FuzzedDataProvider in(data, size);
  std::vector<PackedStep> any;
  while (in.remaining_bytes() > 0) {
    any.push_back({in.ConsumeIntegral<std::int64_t>(), in.ConsumeIntegral<std::int64_t>(),
                   in.ConsumeIntegral<std::int64_t>(), in.ConsumeIntegral<std::int64_t>()});
  }
  RequireRoundTrip(any);
  return 0;
}
