#include "tools/accounting/timeline/hang_evidence.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "tools/accounting/timeline/hardware.h"

namespace goodput {
namespace {

constexpr std::array<std::string_view, 4> kHangSources{"proc", "output", "ras", "py-spy"};
constexpr Ns kClocksDiffer = 5 * kSecond;
constexpr std::size_t kMostGroups = 4;
constexpr std::size_t kMostOfRas = 4;
constexpr std::size_t kMostOfHardware = 4;
constexpr std::size_t kMostLine = 200;
constexpr std::size_t kMostNames = 8;
// A process that used at least this share of a processor computes, or waits in a loop.
constexpr double kBusy = 0.5;

// "0-3,7"
std::string Ranges(const std::set<std::int64_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::int64_t first = *at;
    std::int64_t last = first;
    for (++at; at != numbers.end() && *at == last + 1; ++at) last = *at;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
  }
  return text;
}

std::string Names(const std::set<std::string>& names) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (++count > kMostNames) return text + " and " + std::to_string(names.size() - kMostNames) + " more";
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

std::string Doing(const HangEvidence& found) {
  const std::string in = found.wchan.empty() ? "" : " in " + found.wchan;
  if (found.state == "D") return "waits in the kernel and cannot be interrupted" + in;
  if (found.state == "T" || found.state == "t") return "is stopped";
  if (found.state == "Z" || found.state == "X") return "is dead";
  if (found.processor && *found.processor >= kBusy) return "keeps a processor busy";
  if (found.state == "S" || found.state == "I") return "sleeps" + in;
  if (found.state == "R") return "runs";
  return "could not be read";
}

void AddProcesses(const std::vector<const HangEvidence*>& evidence, std::vector<std::string>& lines) {
  struct Group {
    std::set<std::int64_t> tasks;
    std::set<std::string> nodes;
    std::size_t processes = 0;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;  // by program and what it does
  for (const HangEvidence* found : evidence) {
    if (found->source != HangEvidence::Source::kProc) continue;
    Group& group = groups[{found->program, Doing(*found)}];
    if (found->task) group.tasks.insert(*found->task);
    group.nodes.insert(found->node);
    ++group.processes;
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Group>> sorted(groups.begin(), groups.end());
  // What few do says more than what most do.
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.processes < b.second.processes; });
  const std::size_t shown = std::min(sorted.size(), kMostGroups);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [what, group] = sorted[i];
    std::string line = Names(group.nodes);
    line += ", ";
    if (!group.tasks.empty()) {
      line += group.tasks.size() == 1 ? "task " : "tasks ";
      line += Ranges(group.tasks);
      line += ": ";
    }
    line += what.first.empty() ? "a process" : what.first;
    line += " ";
    line += what.second;
    if (group.processes > std::max<std::size_t>(1, group.tasks.size()))
      line += " (" + std::to_string(group.processes) + " processes)";
    lines.push_back(std::move(line));
  }
  if (sorted.size() > shown)
    lines.push_back("and " + std::to_string(sorted.size() - shown) + " other states (--json has them)");
}

void AddRas(const std::vector<const HangEvidence*>& evidence, std::vector<std::string>& lines) {
  std::vector<std::string> said;  // every node tells about all
  std::set<std::string> problems;
  for (const HangEvidence* found : evidence) {
    if (found->source != HangEvidence::Source::kRas) continue;
    if (!found->problem.empty()) problems.insert(found->problem);
    for (std::size_t at = 0; at < found->text.size();) {
      const std::size_t end = std::min(found->text.find('\n', at), found->text.size());
      const std::string line = found->text.substr(at, end - at);
      if (!line.empty() && std::find(said.begin(), said.end(), line) == said.end()) said.push_back(line);
      at = end + 1;
    }
  }
  const std::size_t shown = std::min(said.size(), kMostOfRas);
  for (std::size_t i = 0; i < shown; ++i) lines.push_back("NCCL: " + said[i]);
  if (said.size() > shown)
    lines.push_back("NCCL: " + std::to_string(said.size() - shown) + " more (--json has them)");
  if (said.empty() && !problems.empty()) lines.push_back("NCCL: " + *problems.begin());
}

// The main thread of each program, those that are at the same place folded into one, the fewest first.
void AddStacks(const std::vector<const HangEvidence*>& evidence, std::vector<std::string>& lines) {
  struct Group {
    std::set<std::int64_t> tasks;
    std::set<std::string> nodes;
    std::size_t processes = 0;
  };
  std::map<std::string, Group> groups;
  for (const HangEvidence* found : evidence) {
    if (found->source != HangEvidence::Source::kPySpy) continue;
    std::string where = found->text.empty() ? found->problem : found->text.substr(0, found->text.find('\n'));
    if (where.size() > kMostLine) where = where.substr(0, kMostLine) + "...";
    Group& group = groups[where];
    if (found->task) group.tasks.insert(*found->task);
    group.nodes.insert(found->node);
    ++group.processes;
  }
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.processes < b.second.processes; });
  const std::size_t shown = std::min(sorted.size(), kMostGroups);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [where, group] = sorted[i];
    lines.push_back(Names(group.nodes) + (group.tasks.size() == 1 ? ", task " : ", tasks ") +
                    Ranges(group.tasks) + ": " + where);
  }
  if (sorted.size() > shown)
    lines.push_back("and " + std::to_string(sorted.size() - shown) + " other places (--json has them)");
}

void AddOutput(const std::vector<const HangEvidence*>& evidence, std::vector<std::string>& lines) {
  std::set<std::string> last;
  bool is_private = false;
  for (const HangEvidence* found : evidence) {
    if (found->source != HangEvidence::Source::kOutput) continue;
    if (found->text.empty()) is_private = true;
    std::string line = found->text.substr(found->text.rfind('\n') + 1);
    if (line.size() > kMostLine) line = line.substr(0, kMostLine) + "...";
    if (!line.empty() && last.insert(line).second) lines.push_back("last line of output: " + line);
  }
  if (last.empty() && is_private)
    lines.push_back("last output: not kept, since not everyone may read the file");
}

}  // namespace

std::string_view HangSourceName(HangEvidence::Source source) {
  return kHangSources[static_cast<std::size_t>(source)];
}

std::optional<HangEvidence::Source> HangSourceOf(std::string_view name) {
  const auto found = std::find(kHangSources.begin(), kHangSources.end(), name);
  if (found == kHangSources.end()) return std::nullopt;
  return static_cast<HangEvidence::Source>(found - kHangSources.begin());
}

std::vector<const HangEvidence*> EvidenceOf(const Timeline& timeline, const Stall& stall) {
  std::vector<const HangEvidence*> found;
  const auto attempt = static_cast<std::size_t>(stall.attempt);
  if (attempt >= timeline.attempts.size() || timeline.attempts[attempt].facts == nullptr) return found;
  for (const HangEvidence& one : timeline.attempts[attempt].facts->hang_evidence) {
    if (one.t > stall.last_progress && one.t <= stall.end + kClocksDiffer) found.push_back(&one);
  }
  std::stable_sort(found.begin(), found.end(), [](const HangEvidence* a, const HangEvidence* b) {
    return std::tie(a->node, a->task, a->t) < std::tie(b->node, b->task, b->t);
  });
  return found;
}

std::vector<std::string> AllInWords(const Timeline& timeline, const Stall& stall) {
  std::vector<std::string> lines;
  for (const HardwareGroup& group : HardwareOf(timeline, stall)) lines.push_back(InWords(group));
  if (lines.size() > kMostOfHardware) {
    const std::size_t more = lines.size() - kMostOfHardware;
    lines.resize(kMostOfHardware);
    lines.push_back("and " + std::to_string(more) + " more by the kernel (--json has them)");
  }
  for (std::string& line : InWords(EvidenceOf(timeline, stall))) lines.push_back(std::move(line));
  return lines;
}

std::string MostTelling(const Timeline& timeline, const Stall& stall) {
  const std::vector<HardwareGroup> hardware = HardwareOf(timeline, stall);
  if (!hardware.empty()) return InWords(hardware.front());
  const std::vector<const HangEvidence*> evidence = EvidenceOf(timeline, stall);
  const auto knows = [](const HangEvidence* found) {
    return found->source == HangEvidence::Source::kRas && !found->text.empty();
  };
  std::vector<std::string> lines;
  if (std::any_of(evidence.begin(), evidence.end(), knows)) AddRas(evidence, lines);
  if (lines.empty()) {
    std::vector<const HangEvidence*> stuck;
    std::copy_if(evidence.begin(), evidence.end(), std::back_inserter(stuck),
                 [](const HangEvidence* found) { return found->state == "D"; });
    AddProcesses(stuck, lines);
  }
  return lines.empty() ? "" : lines.front();
}

std::vector<std::string> InWords(const std::vector<const HangEvidence*>& evidence) {
  std::vector<std::string> lines;
  AddRas(evidence, lines);
  AddProcesses(evidence, lines);
  AddStacks(evidence, lines);
  AddOutput(evidence, lines);
  return lines;
}

}  // namespace goodput
