#include "sql/step_block.h"

#include <cstddef>

namespace goodput {
namespace {

// Differences wrap around, so that any two 64-bit numbers can follow each other.
std::uint64_t Zigzag(std::int64_t before, std::int64_t value) {
  const auto delta =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(before));
  return (static_cast<std::uint64_t>(delta) << 1U) ^ static_cast<std::uint64_t>(delta >> 63);
}

std::int64_t Unzigzag(std::int64_t before, std::uint64_t packed) {
  const std::uint64_t delta = (packed >> 1U) ^ (~(packed & 1U) + 1U);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + delta);
}

void PutVarint(std::uint64_t value, std::string& data) {
  while (value >= 0x80) {
    data.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
    value >>= 7U;
  }
  data.push_back(static_cast<char>(value));
}

bool GetVarint(std::string_view data, std::size_t& at, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && at < data.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(data[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) return true;
  }
  return false;
}

}  // namespace

void PackStep(const PackedStep& before, const PackedStep& step, std::string& data) {
  PutVarint(Zigzag(before.t_ns, step.t_ns), data);
  PutVarint(Zigzag(before.step, step.step), data);
  PutVarint(Zigzag(before.task, step.task), data);
  PutVarint(Zigzag(before.offset, step.offset), data);
}

bool UnpackSteps(std::string_view data, std::vector<PackedStep>& steps) {
  PackedStep step;
  std::size_t at = 0;
  while (at < data.size()) {
    std::uint64_t t = 0;
    std::uint64_t number = 0;
    std::uint64_t task = 0;
    std::uint64_t offset = 0;
    if (!GetVarint(data, at, t) || !GetVarint(data, at, number) || !GetVarint(data, at, task) ||
        !GetVarint(data, at, offset)) {
      return false;
    }
    step = {Unzigzag(step.t_ns, t), Unzigzag(step.step, number), Unzigzag(step.task, task),
            Unzigzag(step.offset, offset)};
    steps.push_back(step);
  }
  return true;
}

}  // namespace goodput
