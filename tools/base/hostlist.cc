#include "tools/base/hostlist.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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

void AppendPadded(std::int64_t number, std::size_t digits, std::string& text) {
  const std::size_t begin = text.size();
  absl::StrAppend(&text, number);
  const std::size_t written = text.size() - begin;
  if (written < digits) text.insert(begin, digits - written, '0');
}

// Every call produces a name, so the limit bounds the work for any list. `name`: what is before `rest`; it is
// the same afterwards.
void Expand(std::string& name, std::string_view rest, std::size_t groups, std::size_t limit,
            std::vector<std::string>& names) {
  if (names.size() >= limit) return;
  const std::size_t before = name.size();
  const std::size_t open = groups > 0 ? rest.find('[') : std::string_view::npos;
  const std::size_t close = open == std::string_view::npos ? open : rest.find(']', open);
  if (close == std::string_view::npos) {
    name += rest;
    names.push_back(name);
    name.resize(before);
    return;
  }
  name += rest.substr(0, open);
  const std::size_t head = name.size();
  const std::string_view tail = rest.substr(close + 1);
  const auto expand = [&] {
    Expand(name, tail, groups - 1, limit, names);
    name.resize(head);
  };
  for (absl::string_view range : absl::StrSplit(ToAbsl(rest.substr(open + 1, close - open - 1)), ',')) {
    const std::size_t dash = range.find('-');
    const absl::string_view low = range.substr(0, dash);
    const absl::string_view high = dash == absl::string_view::npos ? low : range.substr(dash + 1);
    std::int64_t from = 0;
    std::int64_t to = 0;
    if (!absl::SimpleAtoi(low, &from) || !absl::SimpleAtoi(high, &to) || from < 0 || to < from) {
      absl::StrAppend(&name, range);
      expand();
      continue;
    }
    for (std::int64_t number = from; number <= to && names.size() < limit;) {
      AppendPadded(number, low.size(), name);
      expand();
      if (number == to) break;  // which may be the maximum value
      ++number;
    }
  }
  name.resize(before);
}

}  // namespace

std::vector<std::string> ExpandHostList(std::string_view list, std::size_t limit) {
  std::vector<std::string> names;
  std::string name;
  for (const std::string_view item : SplitTop(list)) Expand(name, item, kMaxGroups, limit, names);
  return names;
}

namespace {

// A name as its last number and what is around it; the number has at most 18 digits.
struct SplitName {
  std::string head;
  std::string tail;
  std::size_t digits = 0;  // 0: it has no number
  std::int64_t number = 0;

  auto Key() const { return std::tie(head, tail, digits, number); }
  bool IsLike(const SplitName& other) const {
    return head == other.head && tail == other.tail && digits > 0 && other.digits > 0;
  }
};

SplitName Split(const std::string& name) {
  constexpr std::size_t kMostDigits = 18;
  constexpr std::string_view kDigits = "0123456789";
  SplitName split;
  const std::size_t last = name.find_last_of(kDigits);
  const std::size_t before = last == std::string::npos ? last : name.find_last_not_of(kDigits, last);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  if (last == std::string::npos || last + 1 - begin > kMostDigits ||
      !absl::SimpleAtoi(name.substr(begin, last + 1 - begin), &split.number)) {
    split.head = name;
    return split;
  }
  split.head = name.substr(0, begin);
  split.tail = name.substr(last + 1);
  split.digits = last + 1 - begin;
  return split;
}

// "07" and "7" are different names, but 9 and 10 belong to one range.
bool Follows(const SplitName& before, const SplitName& after) {
  const bool padded = before.digits > Cat(before.number).size() || after.digits > Cat(after.number).size();
  return after.number == before.number + 1 && (!padded || before.digits == after.digits);
}

std::string Digits(const SplitName& name) {
  std::string digits = Cat(name.number);
  return std::string(name.digits - std::min(name.digits, digits.size()), '0') + digits;
}

}  // namespace

std::string CompressHostList(const std::vector<std::string>& names) {
  std::vector<SplitName> split;
  split.reserve(names.size());
  for (const std::string& name : names) split.push_back(Split(name));
  const auto key = [](const SplitName& name) { return name.Key(); };
  std::sort(split.begin(), split.end(),
            [&](const SplitName& a, const SplitName& b) { return key(a) < key(b); });
  split.erase(std::unique(split.begin(), split.end(),
                          [&](const SplitName& a, const SplitName& b) { return key(a) == key(b); }),
              split.end());
  std::string list;
  for (std::size_t i = 0; i < split.size();) {
    std::string ranges;
    std::size_t count = 0;
    const std::size_t first = i;
    while (i < split.size() && (i == first || split[i].IsLike(split[first]))) {
      std::size_t end = i;
      while (end + 1 < split.size() && split[end + 1].IsLike(split[first]) &&
             Follows(split[end], split[end + 1]))
        ++end;
      if (split[i].digits > 0)
        ranges += Cat(ranges.empty() ? "" : ",", Digits(split[i]),
                      end > i ? Cat("-", Digits(split[end])) : std::string());
      count += end - i + 1;
      i = end + 1;
    }
    list += Cat(list.empty() ? "" : ",", split[first].head, count > 1 ? Cat("[", ranges, "]") : ranges,
                split[first].tail);
  }
  return list;
}

}  // namespace goodput
