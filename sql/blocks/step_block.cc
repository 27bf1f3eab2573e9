#include "sql/blocks/step_block.h"

#include <algorithm>
#include <array>

#include "sql/blocks/varint.h"

namespace goodput {
namespace {

constexpr std::array<std::int64_t PackedStep::*, 4> kColumns{&PackedStep::t_ns, &PackedStep::step,
                                                             &PackedStep::task, &PackedStep::offset};
constexpr unsigned kMaxPowerOfTen = 9;
// About what one mark that needs more bits than the others costs beyond the bits it lacks.
constexpr std::size_t kExceptionBits = 16;

unsigned BitLength(std::uint64_t value) {
  return value == 0 ? 0 : static_cast<unsigned>(64 - __builtin_clzll(value));
}

// The bits a mark gets such that the column is smallest.
unsigned BestWidth(const std::vector<std::uint64_t>& values) {
  std::array<std::size_t, 65> of_length{};
  for (const std::uint64_t value : values) ++of_length[BitLength(value)];
  unsigned best = 64;
  std::size_t least = SIZE_MAX;
  std::size_t longer = 0;   // values that need more bits
  std::size_t lacking = 0;  // bits they lack, all together
  for (unsigned width = 65; width-- > 0;) {
    const std::size_t bits = values.size() * width + longer * kExceptionBits + lacking;
    if (bits <= least) {
      least = bits;
      best = width;
    }
    longer += of_length[width];
    lacking += longer;
  }
  return best;
}

// A power of ten that divides all: clocks that count microseconds leave three digits empty.
unsigned CommonPowerOfTen(const std::vector<std::int64_t>& values) {
  unsigned power = kMaxPowerOfTen;
  bool any = false;
  for (const std::int64_t value : values) {
    if (value == 0) continue;
    any = true;
    unsigned zeros = 0;
    for (std::int64_t rest = value; zeros < power && rest % 10 == 0; rest /= 10) ++zeros;
    power = zeros;
    if (power == 0) break;
  }
  return any ? power : 0;
}

std::int64_t PowerOfTen(unsigned power) {
  std::int64_t value = 1;
  while (power-- > 0) value *= 10;
  return value;
}

void PackColumn(std::int64_t before, const std::vector<PackedStep>& steps, std::int64_t PackedStep::*column,
                std::string& data) {
  std::vector<std::int64_t> differences;
  differences.reserve(steps.size());
  for (const PackedStep& step : steps) {
    differences.push_back(Minus(step.*column, before));
    before = step.*column;
  }
  std::vector<std::int64_t> sorted = differences;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const std::int64_t usual = *middle;
  for (std::int64_t& difference : differences) difference = Minus(difference, usual);
  const unsigned power = CommonPowerOfTen(differences);
  const std::int64_t unit = PowerOfTen(power);
  std::vector<std::uint64_t> values;
  values.reserve(differences.size());
  // Divisions are what packing would take most of its time for.
  for (const std::int64_t difference : differences)
    values.push_back(Zigzag(power == 0 ? difference : difference / unit));
  const unsigned width = BestWidth(values);

  data.push_back(static_cast<char>(width));
  data.push_back(static_cast<char>(power));
  PutVarint(Zigzag(usual), data);
  __extension__ unsigned __int128 bits = 0;
  unsigned have = 0;
  const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  std::size_t exceptions = 0;
  for (const std::uint64_t value : values) {
    if (BitLength(value) > width) ++exceptions;
    bits |= static_cast<decltype(bits)>(value & mask) << have;
    for (have += width; have >= 8; have -= 8) {
      data.push_back(static_cast<char>(static_cast<unsigned char>(bits)));
      bits >>= 8U;
    }
  }
  if (have > 0) data.push_back(static_cast<char>(static_cast<unsigned char>(bits)));
  PutVarint(exceptions, data);
  std::size_t last = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (BitLength(values[i]) <= width) continue;
    PutVarint(i - last, data);
    PutVarint(values[i] >> width, data);
    last = i;
  }
}

bool UnpackColumn(std::string_view data, std::size_t& at, std::int64_t before,
                  std::int64_t PackedStep::*column, PackedStep* steps, std::size_t count) {
  if (data.size() - at < 2) return false;
  const auto width = static_cast<unsigned char>(data[at++]);
  const auto power = static_cast<unsigned char>(data[at++]);
  std::uint64_t usual_packed = 0;
  if (width > 64 || power > kMaxPowerOfTen || !GetVarint(data, at, usual_packed)) return false;
  const std::size_t bytes = (count * width + 7) / 8;
  if (data.size() - at < bytes) return false;
  std::array<std::uint64_t, kMarksPerFrame> values{};
  const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  __extension__ unsigned __int128 bits = 0;
  unsigned have = 0;
  for (std::size_t i = 0; i < count && width > 0; ++i) {
    for (; have < width; have += 8)
      bits |= static_cast<decltype(bits)>(static_cast<unsigned char>(data[at++])) << have;
    values[i] = static_cast<std::uint64_t>(bits) & mask;
    bits >>= width;
    have -= width;
  }
  std::uint64_t exceptions = 0;
  if (!GetVarint(data, at, exceptions) || exceptions > count) return false;
  std::size_t index = 0;
  while (exceptions-- > 0) {
    std::uint64_t gap = 0;
    std::uint64_t high = 0;
    if (!GetVarint(data, at, gap) || !GetVarint(data, at, high) || gap >= count - index || width == 64)
      return false;
    index += gap;
    values[index] |= high << width;
  }
  const std::int64_t usual = Unzigzag(usual_packed);
  const auto unit = static_cast<std::uint64_t>(PowerOfTen(power));
  for (std::size_t i = 0; i < count; ++i) {
    const auto off = static_cast<std::int64_t>(static_cast<std::uint64_t>(Unzigzag(values[i])) * unit);
    before = Plus(before, Plus(usual, off));
    steps[i].*column = before;
  }
  return true;
}

bool UnpackFrame(std::string_view data, std::size_t& at, std::vector<PackedStep>& steps) {
  std::uint64_t count = 0;
  if (!GetVarint(data, at, count) || count == 0 || count > kMarksPerFrame) return false;
  const PackedStep before = steps.empty() ? PackedStep{} : steps.back();
  const std::size_t first = steps.size();
  steps.resize(first + count);
  for (const auto column : kColumns) {
    if (UnpackColumn(data, at, before.*column, column, steps.data() + first, count)) continue;
    steps.resize(first);
    return false;
  }
  return true;
}

}  // namespace

void PackStep(const PackedStep& before, const PackedStep& step, std::string& data) {
  for (const auto column : kColumns) PutVarint(Zigzag(Minus(step.*column, before.*column)), data);
}

void PackFrame(const PackedStep& before, const std::vector<PackedStep>& steps, std::string& data) {
  if (steps.empty()) return;
  PutVarint(steps.size(), data);
  for (const auto column : kColumns) PackColumn(before.*column, steps, column, data);
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
