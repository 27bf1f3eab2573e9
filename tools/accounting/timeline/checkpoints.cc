#include "tools/accounting/timeline/checkpoints.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace goodput {

// What the checkpoints of a part's saves differ in.
void Checkpoints::Make(const SaveRanges::Iterator& save, Checkpoint& checkpoint) {
  checkpoint.step = save->train_step;
  checkpoint.begin = save->begin;
  checkpoint.complete = save->end;
  checkpoint.ref = save.block().BeginRef(*save);
}

void Checkpoints::Iterator::Enter(std::size_t part) {
  part_ = part;
  own_ = 0;
  save_ = SaveRanges::Iterator();
  if (part < parts_->size()) {
    save_ = (*parts_)[part].saves.begin();
    made_.incarnation = (*parts_)[part].incarnation;
    made_.evidence = (*parts_)[part].evidence;
  }
  Choose();
}

void Checkpoints::Iterator::Choose() {
  if (part_ == parts_->size()) return;
  const Part& part = (*parts_)[part_];
  const bool own = own_ < part.own.size();
  const bool saved = save_ != part.saves.end();
  if (!own && !saved) return Enter(part_ + 1);
  in_saves_ = saved;
  if (!saved) return;
  Make(save_, made_);
  in_saves_ = !own;
  if (!own) return;
  const auto order = [](const Checkpoint& one) { return std::tie(one.begin, one.complete, one.step); };
  in_saves_ = order(made_) < order(part.own[own_]);
}

Checkpoints::Iterator& Checkpoints::Iterator::operator++() {
  if (in_saves_) {
    ++save_;
  } else {
    ++own_;
  }
  Choose();
  return *this;
}

void Checkpoints::Append(const Checkpoints& start, int incarnation, const RunFacts& facts) {
  for (Part part : start.parts_) {
    part.incarnation = incarnation;
    std::optional<Evidence> evidence;
    bool differs = false;
    const SaveBlock* block = nullptr;
    for (auto save = part.saves.begin(); save != part.saves.end(); ++save) {
      if (block == &save.block()) continue;
      block = &save.block();
      const Evidence its = facts.EvidenceOf(save.block().BeginRef(*save));
      differs |= evidence.value_or(its) != its;
      evidence = its;
    }
    part.evidence = evidence.value_or(part.evidence);
    parts_.push_back(std::move(part));
    if (differs) Dissolve(facts, parts_.back());
  }
}

// Of saves that do not have the same evidence.
void Checkpoints::Dissolve(const RunFacts& facts, Part& part) {
  std::vector<Checkpoint> all;
  for (Iterator at(parts_, parts_.size() - 1); at != end(); ++at) {
    all.push_back(*at);
    if (at.in_saves_) all.back().evidence = facts.EvidenceOf(at->ref);
  }
  part.own = std::move(all);
  part.saves = SaveRanges();
}

std::size_t Checkpoints::size() const {
  std::size_t size = 0;
  for (const Part& part : parts_) size += part.own.size() + part.saves.size();
  return size;
}

void Checkpoints::EraseIf(const std::function<bool(const Checkpoint&)>& gone) {
  for (Part& part : parts_) {
    part.own.erase(std::remove_if(part.own.begin(), part.own.end(), gone), part.own.end());
    SaveRanges kept;
    Checkpoint made;
    made.incarnation = part.incarnation;
    made.evidence = part.evidence;
    for (auto save = part.saves.begin(); save != part.saves.end(); ++save) {
      Make(save, made);
      if (!gone(made)) kept.Add(save.block(), save.index());
    }
    part.saves = std::move(kept);
  }
}

}  // namespace goodput
