#include "tools/sources/telemetry/sent_state.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sql/status_macros.h"
#include "sql/text.h"
#include "tools/accounting/fleet_rows/fleet_rows.h"
#include "tools/base/replace_file.h"

namespace goodput {
namespace {

constexpr absl::string_view kHeader = "slurm-goodput telemetry 1";

std::string Escaped(std::string_view text) {
  return absl::CEscape(ToAbsl(text));
}

std::string SumText(GpuNs sum) {
  return Cat(static_cast<std::int64_t>(sum / kSecond), "\t", static_cast<std::int64_t>(sum % kSecond));
}

std::string CountsLine(std::string_view name, const SentCounts& counts) {
  return Cat(name, "\t", counts.delivered, "\t", counts.sent, "\t", counts.rejected, "\t", counts.refused,
             "\t", Escaped(counts.problem), "\n");
}

// The fields of one line; a missing or wrong one makes it bad.
class Line {
 public:
  explicit Line(absl::string_view line) : fields_(absl::StrSplit(line, '\t')) {}
  const std::string& kind() const { return fields_.front(); }
  std::int64_t Int() {
    std::int64_t number = 0;
    if (!absl::SimpleAtoi(Next(), &number)) good_ = false;
    return number;
  }
  std::string Text() {
    std::string text;
    if (!absl::CUnescape(Next(), &text)) good_ = false;
    return text;
  }
  bool good() const { return good_ && next_ == fields_.size(); }

 private:
  std::string Next() {
    if (next_ < fields_.size()) return fields_[next_++];
    good_ = false;
    return "";
  }
  std::vector<std::string> fields_;
  std::size_t next_ = 1;
  bool good_ = true;
};

SentCounts CountsOf(Line& line) {
  SentCounts counts;
  counts.delivered = line.Int();
  counts.sent = line.Int();
  counts.rejected = line.Int();
  counts.refused = line.Int();
  counts.problem = line.Text();
  return counts;
}

// Lines of other kinds are those of a newer release.
bool ReadLine(Line line, SentState& state) {
  if (line.kind() == "start") {
    state.start = line.Int();
    state.earliest = line.Int();
    state.last_point = line.Int();
  } else if (line.kind() == "since") {
    state.since = line.Int();
    state.waiting = line.Int();
  } else if (line.kind() == "sum") {
    const GpuNs seconds = line.Int();
    const GpuNs sum = seconds * kSecond + line.Int();
    const std::optional<Bucket> bucket = BucketFromName(line.Text());
    const std::string account = line.Text();
    const std::string partition = line.Text();
    if (bucket) state.sums[{account, partition, *bucket}] = sum;
  } else if (line.kind() == "group") {
    const std::int64_t end_s = line.Int();
    state.groups[absl::HexStringToBytes(line.Text())] = end_s;
  } else if (line.kind() == "metrics") {
    state.metrics = CountsOf(line);
  } else if (line.kind() == "traces") {
    state.traces = CountsOf(line);
  } else {
    return true;
  }
  return line.good();
}

}  // namespace

void Forget(Ns time, SentState& state) {
  const auto forget_before = [&](std::int64_t end_s) {
    for (auto group = state.groups.begin(); group != state.groups.end();)
      group = group->second < end_s ? state.groups.erase(group) : std::next(group);
    state.since = std::max(state.since, end_s * kSecond);
  };
  forget_before(time / kSecond);
  if (state.groups.size() <= kMostSentGroups) return;
  std::vector<std::int64_t> ends;
  for (const auto& [key, end_s] : state.groups) ends.push_back(end_s);
  const auto first = ends.end() - static_cast<std::ptrdiff_t>(kMostSentGroups);
  std::nth_element(ends.begin(), first, ends.end());
  forget_before(*first + 1);
}

std::string FormatSentState(const SentState& state) {
  std::string text = Cat(std::string(kHeader), "\nstart\t", state.start, "\t", state.earliest, "\t",
                         state.last_point, "\nsince\t", state.since, "\t", state.waiting, "\n");
  text += CountsLine("metrics", state.metrics);
  text += CountsLine("traces", state.traces);
  for (const auto& [key, sum] : state.sums)
    text += Cat("sum\t", SumText(sum), "\t", BucketName(key.bucket), "\t", Escaped(key.account), "\t",
                Escaped(key.partition), "\n");
  for (const auto& [key, end_s] : state.groups)
    text += Cat("group\t", end_s, "\t", absl::BytesToHexString(key), "\n");
  return Cat(text, "end\t", DigestOf(text), "\n");
}

absl::StatusOr<SentState> ParseSentState(std::string_view text) {
  const absl::Status damaged = absl::DataLossError("damaged");
  const std::size_t end = text.rfind("end\t");
  if (end == std::string_view::npos || text.substr(end) != Cat("end\t", DigestOf(text.substr(0, end)), "\n"))
    return damaged;
  SentState state;
  bool first = true;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(text.substr(0, end)), '\n', absl::SkipEmpty())) {
    if (first ? line != kHeader : !ReadLine(Line(line), state)) return damaged;
    first = false;
  }
  return state;
}

absl::StatusOr<std::optional<SentState>> LoadSentState(const std::string& path) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadFileIfAny(path));
  if (!text) return std::optional<SentState>();
  ASSIGN_OR_RETURN(SentState state, ParseSentState(*text));
  return std::optional<SentState>(std::move(state));
}

absl::Status SaveSentState(const std::string& path, const SentState& state) {
  return ReplaceFile(path, FormatSentState(state));
}

}  // namespace goodput
