#include "tools/sources/import_export/folded_export.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sql/text.h"
#include "tools/accounting/timeline/bucket.h"

namespace goodput {
namespace {

constexpr Ns kMillisecond = 1'000'000;

// A frame must not end the line, nor its stack.
std::string Frame(std::string_view name) {
  std::string frame(name);
  for (char& c : frame) {
    if (c == ';' || static_cast<unsigned char>(c) < 0x20) c = '_';
  }
  return frame;
}

}  // namespace

absl::Status ExportFoldedStacks(const Timeline& timeline, const std::string& name,
                                const std::function<absl::Status(std::string_view)>& write) {
  std::vector<std::pair<std::string, Ns>> stacks;
  std::map<std::string, std::size_t> known;
  for (const Interval& interval : timeline.intervals) {
    std::string stack =
        Cat(Frame(name), ";", SideName(BucketSide(interval.bucket)), ";", BucketName(interval.bucket));
    if (!interval.part.empty()) stack += Cat(";", Frame(interval.part));
    const auto [at, is_new] = known.emplace(stack, stacks.size());
    if (is_new) stacks.emplace_back(std::move(stack), 0);
    stacks[at->second].second += interval.end - interval.begin;
  }
  std::string text;
  for (const auto& [stack, ns] : stacks) {
    text += Cat(stack, " ", (ns + kMillisecond / 2) / kMillisecond, "\n");
  }
  return write(text);
}

}  // namespace goodput
