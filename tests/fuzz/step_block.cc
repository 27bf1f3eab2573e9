// Fuzzes blocks of steps: any bytes as a block, and any steps in a block.
#include "sql/blocks/step_block.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace goodput {
namespace {

bool Same(const PackedStep& a, const PackedStep& b) {
  return a.t_ns == b.t_ns && a.step == b.step && a.task == b.task && a.offset == b.offset;
}

std::string Pack(const std::vector<PackedStep>& steps) {
  std::string data;
  PackedStep before;
  for (std::size_t at = 0; at < steps.size(); at += kMarksPerFrame) {
    const std::size_t end = std::min(steps.size(), at + kMarksPerFrame);
    PackFrame(
        before,
        {steps.begin() + static_cast<std::ptrdiff_t>(at), steps.begin() + static_cast<std::ptrdiff_t>(end)},
        data);
    before = steps[end - 1];
  }
  return data;
}

void RequireRoundTrip(const std::vector<PackedStep>& steps) {
  const std::string data = Pack(steps);
  std::vector<PackedStep> again;
  REQUIRE(UnpackSteps(data, again));
  REQUIRE(again.size() == steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) REQUIRE(Same(again[i], steps[i]));
  if (data.empty()) return;
  std::vector<PackedStep> cut;
  REQUIRE(!UnpackSteps(std::string_view(data).substr(0, data.size() - 1), cut));
  REQUIRE(cut.size() == (steps.size() - 1) / kMarksPerFrame * kMarksPerFrame);
  std::vector<PackedStep> full;
  REQUIRE(UnpackSteps(std::string_view(data).substr(0, FullFrames(data)), full));
  REQUIRE(full.size() == steps.size() / kMarksPerFrame * kMarksPerFrame);
}

}  // namespace
}  // namespace goodput

FUZZ_TARGET(step_block) {
  using namespace goodput;
  std::vector<PackedStep> steps;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  UnpackSteps(bytes, steps);
  REQUIRE(steps.size() <= size * kMarksPerFrame);
  RequireRoundTrip(steps);

  FuzzedDataProvider in(data, size);
  std::vector<PackedStep> any;
  while (in.remaining_bytes() > 0) {
    any.push_back({in.ConsumeIntegral<std::int64_t>(), in.ConsumeIntegral<std::int64_t>(),
                   in.ConsumeIntegral<std::int64_t>(), in.ConsumeIntegral<std::int64_t>()});
  }
  RequireRoundTrip(any);
  // The same marks over and over, so that there are full frames.
  std::vector<PackedStep> many;
  while (!any.empty() && many.size() < 2 * kMarksPerFrame) many.insert(many.end(), any.begin(), any.end());
  RequireRoundTrip(many);
  return 0;
}
