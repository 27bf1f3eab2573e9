#include "tools/accounting/runs/best_source.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace goodput {
namespace {

// Lower is better.
enum class Rank { kMark, kImport, kOutput, kNone };

Rank RankOf(const std::vector<EvidenceSource>& sources, const EvidenceRef& ref) {
  if (ref.source < 0 || static_cast<std::size_t>(ref.source) >= sources.size()) return Rank::kMark;
  const EvidenceSource& source = sources[static_cast<std::size_t>(ref.source)];
  if (source.evidence != Evidence::kLog) return Rank::kMark;
  return source.imported ? Rank::kImport : Rank::kOutput;
}

template <typename Items, typename IsWorse>
void Drop(Items& items, const IsWorse& is_worse) {
  items.erase(std::remove_if(items.begin(), items.end(), is_worse), items.end());
}

// Comes from the same source as the begins of steps.
bool IsOfSteps(const Mark& mark) {
  return mark.kind == Mark::Kind::kStepEnd || mark.kind == Mark::Kind::kStepFailed;
}

// What is taken from one source as a unit: phases by name, and all marks of checkpoints together.
std::pair<Mark::Kind, std::string> WordOf(const Mark& mark) {
  return {mark.kind, mark.kind == Mark::Kind::kPhase ? mark.name : std::string()};
}

}  // namespace

bool AnyLog(const std::vector<EvidenceSource>& sources) {
  return std::any_of(sources.begin(), sources.end(),
                     [](const EvidenceSource& source) { return source.evidence == Evidence::kLog; });
}

void TakeBestSource(const std::vector<EvidenceSource>& sources, AttemptFacts& attempt) {
  Rank steps = Rank::kNone;
  for (const StepMark& mark : attempt.step_marks) steps = std::min(steps, RankOf(sources, mark.ref));
  for (const StepBlock& block : attempt.step_blocks)
    steps = std::min(steps, RankOf(sources, block.first.ref));
  Drop(attempt.step_marks, [&](const StepMark& mark) { return RankOf(sources, mark.ref) != steps; });
  Drop(attempt.step_blocks,
       [&](const StepBlock& block) { return RankOf(sources, block.first.ref) != steps; });
  Drop(attempt.step_ends, [&](const StepMark& mark) { return RankOf(sources, mark.ref) != steps; });
  Drop(attempt.rank_ends, [&](const StepMark& mark) { return RankOf(sources, mark.ref) != steps; });

  Rank worlds = Rank::kNone;
  for (const WorldMark& mark : attempt.worlds) worlds = std::min(worlds, RankOf(sources, mark.ref));
  Drop(attempt.worlds, [&](const WorldMark& mark) { return RankOf(sources, mark.ref) != worlds; });

  std::map<std::pair<Mark::Kind, std::string>, Rank> best;
  for (const Mark& mark : attempt.marks) {
    if (IsOfSteps(mark)) continue;
    const Rank rank = RankOf(sources, mark.ref);
    const auto known = best.emplace(WordOf(mark), rank).first;
    known->second = std::min(known->second, rank);
  }
  for (const SaveBlock& block : attempt.save_blocks) {
    const Rank rank = RankOf(sources, block.BeginRef(block.saves.front()));
    const auto known = best.emplace(std::pair(Mark::Kind::kCheckpoint, std::string()), rank).first;
    known->second = std::min(known->second, rank);
  }
  // What a log inferred from its own steps is dropped with them.
  const auto between = best.find({Mark::Kind::kPhase, std::string(kBetweenSteps)});
  if (between != best.end() && between->second > steps) between->second = Rank::kNone;
  Drop(attempt.marks, [&](const Mark& mark) {
    const Rank rank = RankOf(sources, mark.ref);
    return rank != (IsOfSteps(mark) ? steps : best.at(WordOf(mark)));
  });
  Drop(attempt.save_blocks, [&](const SaveBlock& block) {
    return RankOf(sources, block.BeginRef(block.saves.front())) != best.at({Mark::Kind::kCheckpoint, ""});
  });
}

}  // namespace goodput
