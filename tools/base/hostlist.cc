#include "tools/base/hostlist.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "sql/text.h"

namespace goodput {
namespace {

// Maximum number of brackets in one name; Slurm's own lists have one or two.
constexpr std::size_t kMaxGroups = 16;

// Splits at commas outside brackets.
std::vector<std::string_view> SplitTop(std::string_view list) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      if (i > begin) items.push_back(list.substr(begin, i - begin));
      begin = i + 1;
    } else if (list[i] == '[') {
      ++depth;
    } else if (list[i] == ']' && depth > 0) {
      --depth;
    }
  }
  return items;
}

// Every call produces a name, so the limit bounds the work for any list.
void Expand(const std::string& prefix, std::string_view rest, std::size_t groups, std::size_t limit,
            std::vector<std::string>& names) {
  if (names.size() >= limit) return;
  const std::size_t open = groups > 0 ? rest.find('[') : std::string_view::npos;
  const std::size_t close = open == std::string_view::npos ? open : rest.find(']', open);
  if (close == std::string_view::npos) {
    names.push_back(Cat(prefix, rest));
    return;
  }
  const std::string head = Cat(prefix, rest.substr(0, open));
  const std::string_view tail = rest.substr(close + 1);
  for (absl::string_view range : absl::StrSplit(ToAbsl(rest.substr(open + 1, close - open - 1)), ',')) {
    const std::size_t dash = range.find('-');
    const absl::string_view low = range.substr(0, dash);
    const absl::string_view high = dash == absl::string_view::npos ? low : range.substr(dash + 1);
    std::int64_t from = 0;
    std::int64_t to = 0;
    if (!absl::SimpleAtoi(low, &from) || !absl::SimpleAtoi(high, &to) || from < 0 || to < from) {
      Expand(Cat(head, std::string(range)), tail, groups - 1, limit, names);
      continue;
    }
    for (std::int64_t number = from; number <= to && names.size() < limit;) {
      std::string digits = Cat(number);
      if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
      Expand(Cat(head, digits), tail, groups - 1, limit, names);
      if (number == to) break;  // which may be the maximum value
      ++number;
    }
  }
}

}  // namespace

std::vector<std::string> ExpandHostList(std::string_view list, std::size_t limit) {
  std::vector<std::string> names;
  for (const std::string_view item : SplitTop(list)) Expand("", item, kMaxGroups, limit, names);
  return names;
}

}  // namespace goodput
