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
  std::array<std::uint64_t, kMarksPerFrame> values{};
  for (unsigned byte = 0; byte < width; ++byte) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] |= static_cast<std::uint64_t>(static_cast<unsigned char>(plain[at++])) << (8U * byte);
  }
  for (std::size_t i = 0; i < count; ++i) {
    before = Plus(before, Plus(Unzigzag(least), static_cast<std::int64_t>(values[i] * unit)));
    steps[i].*column = before;
  }
  return true;
}

bool UnpackFrame(std::string_view data, std::size_t& at, std::vector<PackedStep>& steps) {
  std::uint64_t count = 0;
  std::uint64_t plain_size = 0;
  std::uint64_t packed_size = 0;
  std::string plain;
  if (!GetVarint(data, at, count) || count == 0 || count > kMarksPerFrame ||
      !GetVarint(data, at, plain_size) || plain_size > kMostFrameBytes || !GetVarint(data, at, packed_size) ||
      packed_size > data.size() - at || !Inflate(data.substr(at, packed_size), plain_size, plain)) {
    return false;
  }
  at += packed_size;
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

void PackStep(const PackedStep& before, const PackedStep& step, std::string& data) {
  for (const auto column : kColumns) PutVarint(Zigzag(Minus(step.*column, before.*column)), data);
}

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

bool UnpackSteps(std::string_view data, std::size_t framed, std::vector<PackedStep>& steps) {
  if (framed > data.size()) return false;
  // Differences are to the mark before in this block, whatever the caller has already.
  std::vector<PackedStep> block;
  std::size_t at = 0;
  bool whole = true;
  while (whole && at < framed) whole = UnpackFrame(data.substr(0, framed), at, block);
  while (whole && at < data.size()) {
    PackedStep step = block.empty() ? PackedStep{} : block.back();
    for (const auto column : kColumns) {
      std::uint64_t value = 0;
      whole = whole && GetVarint(data, at, value);
      step.*column = Plus(step.*column, Unzigzag(value));
    }
    if (whole) block.push_back(step);
  }
  steps.insert(steps.end(), block.begin(), block.end());
  return whole;
}

}  // namespace goodput
