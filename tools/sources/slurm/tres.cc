#include "tools/sources/slurm/tres.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

// A larger number is not a count, and sums of many of these fit.
constexpr std::int64_t kMaxGpus = std::int64_t{1} << 30U;

}  // namespace

GpuCount GpusOfTres(std::string_view tres) {
  GpuCount count;
  std::int64_t typed = 0;
  for (absl::string_view item : absl::StrSplit(ToAbsl(tres), ',')) {
    const std::size_t equals = item.find('=');
    if (equals == absl::string_view::npos) continue;
    const absl::string_view name = item.substr(0, equals);
    std::int64_t value = 0;
    if (!absl::SimpleAtoi(item.substr(equals + 1), &value) || value < 0 || value > kMaxGpus) continue;
    constexpr absl::string_view kTyped = "gres/gpu:";
    if (name == "gres/gpu") {
      count.gpus = value;
    } else if (name.substr(0, kTyped.size()) == kTyped) {
      typed += value;
      count.type = std::string(name.substr(kTyped.size()));
    }
  }
  // A cluster may account only typed GPUs.
  count.gpus = std::max(count.gpus, typed);
  return count;
}

GpuCount GpusOfGres(std::string_view gres) {
  GpuCount count;
  for (absl::string_view item : absl::StrSplit(ToAbsl(gres), ',')) {
    item = item.substr(0, item.find('('));
    std::vector<absl::string_view> words = absl::StrSplit(item, absl::ByAnyChar(":/="));
    if (words.front() == "gres") words.erase(words.begin());
    if (words.empty() || words.front() != "gpu") continue;
    std::int64_t number = 0;
    const bool counted =
        words.size() > 1 && absl::SimpleAtoi(words.back(), &number) && number >= 0 && number <= kMaxGpus;
    count.gpus += counted ? number : 1;  // gpu and gpu:h100 mean one
    if (words.size() > (counted ? 2U : 1U)) count.type = std::string(words[1]);
  }
  return count;
}

}  // namespace goodput
