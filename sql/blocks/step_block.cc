#include "sql/blocks/step_block.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "sql/blocks/deflate.h"
#include "sql/blocks/varint.h"

namespace goodput {
namespace {

constexpr std::array<std::int64_t PackedStep::*, 4> kColumns{&PackedStep::t_ns, &PackedStep::step,
                                                             &PackedStep::task, &PackedStep::offset};
constexpr std::size_t kMostFrameBytes = kColumns.size() * (2 * kMostVarint + 1 + 8 * kMarksPerFrame);

// The largest number that divides all: 1,000 where a clock counts microseconds.
std::uint64_t CommonUnit(const std::vector<std::uint64_t>& values) {
  std::uint64_t unit = 0;
  for (const std::uint64_t value : values) {
    unit = std::gcd(unit, value);
    if (unit == 1) break;
  }
  return std::max<std::uint64_t>(unit, 1);
}

void PackColumn(std::int64_t before, const std::vector<PackedStep>& steps, std::int64_t PackedStep::*column,
                std::string& plain) {
  std::vector<std::uint64_t> values;
  values.reserve(steps.size());
  std::int64_t least = INT64_MAX;
  for (const PackedStep& step : steps) {
    const std::int64_t difference = Minus(step.*column, before);
    before = step.*column;
    least = std::min(least, difference);
    values.push_back(static_cast<std::uint64_t>(difference));
  }
  for (std::uint64_t& value : values) value -= static_cast<std::uint64_t>(least);
  const std::uint64_t unit = CommonUnit(values);
  if (unit > 1) {
    for (std::uint64_t& value : values) value /= unit;
  }
  const std::uint64_t most = *std::max_element(values.begin(), values.end());
  const unsigned width = most == 0 ? 0 : 8 - static_cast<unsigned>(__builtin_clzll(most)) / 8;
  PutVarint(Zigzag(least), plain);
  PutVarint(unit, plain);
  plain.push_back(static_cast<char>(width));
  for (unsigned byte = 0; byte < width; ++byte) {
    for (const std::uint64_t value : values)
      plain.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * byte))));
  }
}

bool UnpackColumn(std::string_view plain, std::size_t& at, std::int64_t before,
                  std::int64_t PackedStep::*column, PackedStep* steps, std::size_t count) {
  std::uint64_t least = 0;
  std::uint64_t unit = 0;
  if (!GetVarint(plain, at, least) || !GetVarint(plain, at, unit) || at == plain.size()) return false;
  const auto width = static_cast<unsigned char>(plain[at++]);
  if (width > 8 || plain.size() - at < width * count) return false;
  std::array<std::uint64_t, kMarksPerFrame> values;  // NOLINT: nothing reads the rest
  std::fill_n(values.begin(), count, 0);
  for (unsigned byte = 0; byte < width; ++byte) {
    const std::string_view plane = plain.substr(at, count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] |= static_cast<std::uint64_t>(static_cast<unsigned char>(plane[i])) << (8U * byte);
    at += count;
  }
  for (std::size_t i = 0; i < count; ++i) {
    before = Plus(before, Plus(Unzigzag(least), static_cast<std::int64_t>(values[i] * unit)));
    steps[i].*column = before;
  }
  return true;
}

struct Frame {
  std::size_t marks = 0;
  std::size_t plain_size = 0;
  std::string_view packed;
};

bool GetFrame(std::string_view data, std::size_t& at, Frame& frame) {
  std::uint64_t marks = 0;
  std::uint64_t plain_size = 0;
  std::uint64_t packed_size = 0;
  if (!GetVarint(data, at, marks) || marks == 0 || marks > kMarksPerFrame ||
      !GetVarint(data, at, plain_size) || plain_size > kMostFrameBytes || !GetVarint(data, at, packed_size) ||
      packed_size > data.size() - at) {
    return false;
  }
  frame = {marks, plain_size, data.substr(at, packed_size)};
  at += packed_size;
  return true;
}

bool UnpackFrame(std::string_view data, std::size_t& at, std::vector<PackedStep>& steps) {
  Frame frame;
  std::string plain;
  if (!GetFrame(data, at, frame) || !Inflate(frame.packed, frame.plain_size, plain)) return false;
  const std::size_t count = frame.marks;
  const PackedStep before = steps.empty() ? PackedStep{} : steps.back();
  const std::size_t first = steps.size();
  steps.resize(first + count);
  std::size_t plain_at = 0;
  for (const auto column : kColumns) {
    if (UnpackColumn(plain, plain_at, before.*column, column, steps.data() + first, count)) continue;
    steps.resize(first);
    return false;
  }
  return plain_at == plain.size();
}

}  // namespace

void PackFrame(const PackedStep& before, const std::vector<PackedStep>& steps, std::string& data) {
  if (steps.empty()) return;
  std::string plain;
  for (const auto column : kColumns) PackColumn(before.*column, steps, column, plain);
  const std::string packed = Deflate(plain, DeflateFor::kColumns);
  PutVarint(steps.size(), data);
  PutVarint(plain.size(), data);
  PutVarint(packed.size(), data);
  data += packed;
}

std::size_t FullFrames(std::string_view data) {
  std::size_t full = 0;
  Frame frame;
  for (std::size_t at = 0; GetFrame(data, at, frame) && frame.marks == kMarksPerFrame;) full = at;
  return full;
}

bool UnpackSteps(std::string_view data, std::vector<PackedStep>& steps) {
  steps.clear();
  std::size_t at = 0;
  while (at < data.size()) {
    if (!UnpackFrame(data, at, steps)) return false;
  }
  return true;
}

}  // namespace goodput
