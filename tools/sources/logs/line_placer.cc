#include "tools/sources/logs/line_placer.h"

#include <algorithm>
#include <cstdlib>

namespace goodput {
namespace {

using Kind = LogEvent::Kind;

// Number of lines considered together.
constexpr std::size_t kTogether = 4096;
// A clock with a finer resolution is used as it is.
constexpr Ns kFine = 10 * kSecond / 1000;
// Printed durations are rounded by this much per step.
constexpr Ns kRounding = kSecond / 1000;
constexpr Ns kForever = INT64_MAX / 2;
constexpr Ns kBounded = kForever / 4 * 3;  // actual times are smaller
// A step's duration is measured over as many lines as possible that leave this many measurements.
constexpr std::size_t kMeasures = 7;

Ns Times(Ns each, std::int64_t count) {
  return each > 0 && count > kForever / each ? kForever : each * count;
}

// It begins right after the previous line, and what follows is unknown.
bool Interrupts(Kind kind) {
  return kind == Kind::kSaveBegin || kind == Kind::kPhaseBegin || kind == Kind::kRestoreBegin;
}

// Training continues after it.
bool Resumes(Kind kind) {
  return kind == Kind::kSaveEnd || kind == Kind::kSave || kind == Kind::kSaveGoesOn ||
         kind == Kind::kPhaseEnd || kind == Kind::kRestoreEnd || kind == Kind::kTrainingBegin;
}

// Mean of the values that differ from `middle` by at most `most`.
Ns MeanAround(const std::vector<Ns>& values, Ns middle, Ns most) {
  __int128 sum = 0;
  std::int64_t count = 0;
  for (const Ns value : values) {
    if (std::abs(value - middle) > most) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? middle : static_cast<Ns>(sum / count);
}

bool IsStep(const LogEvent& event) {
  return event.kind == Kind::kStepEnd && event.step && *event.step > 0 && !event.epoch_begins;
}

}  // namespace

// Ranks that lag differ by at most this much.
void LinePlacer::SeeClock(Item& item) {
  constexpr Ns kLag = 2 * kSecond;
  constexpr std::int64_t kInLine = 3;
  Line& line = item.line;
  if (!line.stamp) return;
  *line.stamp += set_back_;
  if (line.began) *line.began += set_back_;
  if (!line.event || !IsStep(*line.event)) return;
  const bool next = *line.event->step == last_step_ + 1;
  if (next && in_line_ >= kInLine && *line.stamp + line.resolution < last_stamp_ - kLag) {
    const Ns by = last_stamp_ + took_ - *line.stamp;
    set_back_ += by;
    *line.stamp += by;
    // Moves the lines in between as well.
    for (auto before = items_.rbegin(); before != items_.rend(); ++before) {
      if (!before->line.stamp || *before->line.stamp >= last_stamp_ - kLag) break;
      *before->line.stamp += by;
    }
  }
  if (*line.event->step == last_step_) return;
  if (next) took_ = std::max<Ns>(0, *line.stamp - last_stamp_);
  in_line_ = next ? in_line_ + 1 : 1;
  last_step_ = *line.event->step;
  last_stamp_ = *line.stamp;
}

absl::Status LinePlacer::Add(Line line) {
  Item item;
  item.exact = line.stamp && line.resolution <= kFine;
  item.line = std::move(line);
  SeeClock(item);
  items_.push_back(std::move(item));
  return items_.size() < kTogether ? absl::OkStatus() : PlaceAll();
}

absl::Status LinePlacer::Finish() {
  return PlaceAll();
}

absl::Status LinePlacer::PlaceAll() {
  const bool any_coarse =
      std::any_of(items_.begin(), items_.end(), [](const Item& item) { return !item.exact; });
  if (any_coarse) {
    Bound();
    EstimateStep();
    Place();
  }
  for (Item& item : items_) {
    if (item.exact) item.t = *item.line.stamp;
    at_ = any_coarse ? at_ : item.t;
    if (absl::Status status = take_(item.line, item.t); !status.ok()) return status;
  }
  items_.clear();
  return absl::OkStatus();
}

// Lines are in the order of time, except for some of other ranks.
void LinePlacer::Bound() {
  Ns lo = at_;
  for (Item& item : items_) {
    const bool stamped = item.line.stamp.has_value();
    item.lo = stamped ? *item.line.stamp : lo;
    item.hi = stamped ? item.lo + std::max<Ns>(item.line.resolution - 1, 0) : kForever;
    if (stamped && item.exact) item.hi = item.lo;
    if (lo > item.lo && lo <= item.hi) item.lo = lo;
    lo = item.lo;
  }
  Ns hi = kForever;
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    if (hi < item->hi && hi >= item->lo) item->hi = hi;
    if (item->line.stamp) hi = item->hi;
    // It reports something that began after the previous line.
    if (item->line.began) hi = std::min(hi, *item->line.began);
  }
}

// From lines that are far apart, with nothing but steps between them.
void LinePlacer::EstimateStep() {
  struct Stretch {
    std::vector<std::pair<std::int64_t, Ns>> lines;  // steps done, when
    Ns resolution = 0;
  };
  std::vector<Stretch> stretches(1);
  std::size_t most = 0;
  for (const Item& item : items_) {
    if (!item.line.event) continue;
    const LogEvent& event = *item.line.event;
    if (IsStep(event) && !event.step_ns && item.line.stamp) {
      Stretch& stretch = stretches.back();
      if (!stretch.lines.empty() && *event.step == stretch.lines.back().first) continue;
      if (!stretch.lines.empty() && *event.step < stretch.lines.back().first) stretches.emplace_back();
      stretches.back().lines.emplace_back(*event.step, *item.line.stamp);
      stretches.back().resolution = std::max(stretches.back().resolution, item.line.resolution);
      most = std::max(most, stretches.back().lines.size());
    } else if (Interrupts(event.kind) || Resumes(event.kind)) {
      if (!stretches.back().lines.empty()) stretches.emplace_back();
    }
  }
  for (std::size_t apart = most > 0 ? most - 1 : 0; apart > 0; apart /= 2) {
    std::vector<Ns> measures;
    Ns error = 0;  // maximum error of each
    for (const Stretch& stretch : stretches) {
      for (std::size_t i = 0; i + apart < stretch.lines.size(); i += std::max<std::size_t>(1, apart / 4)) {
        const auto& [first, from] = stretch.lines[i];
        const auto& [last, to] = stretch.lines[i + apart];
        measures.push_back(std::max<Ns>(0, to - from) / (last - first));
        error = std::max(error, stretch.resolution / (last - first));
      }
    }
    if (measures.size() < std::min<std::size_t>(kMeasures, apart)) continue;
    const auto middle = measures.begin() + static_cast<std::ptrdiff_t>(measures.size() / 2);
    std::nth_element(measures.begin(), middle, measures.end());
    step_ = MeanAround(measures, *middle, 2 * error + *middle / 50);
    return;
  }
}

LinePlacer::Link LinePlacer::LinkOf(const LogEvent& event) {
  if (!IsStep(event)) return {in_loop_ && Interrupts(event.kind), 0};
  if (done_ && *event.step <= *done_) return {};
  if (!done_) return {false, event.step_ns.value_or(event.about_ns.value_or(0))};
  const std::int64_t count = *event.step - *done_;
  const std::optional<Ns> each = event.step_ns ? event.step_ns : event.about_ns ? event.about_ns : step_;
  if (!each) return {};
  return {in_loop_, Times(*each, count)};
}

// What the program does after this line.
void LinePlacer::Follow(const LogEvent& event) {
  if (IsStep(event)) {
    done_ = *event.step;
    in_loop_ = true;
  } else if (Interrupts(event.kind)) {
    in_loop_ = false;
  } else if (Resumes(event.kind)) {
    if (event.kind == Kind::kTrainingBegin) {
      done_.reset();
      if (event.step) done_ = *event.step - 1;
    }
    in_loop_ = true;
  } else if (event.kind == Kind::kProgramBegin) {
    done_.reset();
    in_loop_ = false;
  }
}

void LinePlacer::Begin(std::size_t i, const Link& link, bool earliest) {
  Close();
  Chain chain;
  chain.lo = items_[i].lo;
  chain.hi = items_[i].hi;
  chain.earliest = earliest || !items_[i].line.stamp;
  if (link.work > 0) chain.after = link.work;
  items_[i].offset = 0;
  chain.items.push_back(i);
  chain_ = std::move(chain);
}

void LinePlacer::Extend(std::size_t i, const Link& link) {
  Item& item = items_[i];
  if (!chain_) {
    // It continues the previous chain.
    Chain chain;
    chain.lo = chain.hi = at_;
    chain_ = std::move(chain);
  }
  Chain& chain = *chain_;
  const LogEvent& event = *item.line.event;
  Ns offset = chain.length + link.work;
  const Ns late = item.lo - offset - chain.hi;  // how much later than possible it comes
  if (late > 0) {
    const Ns resolution = item.exact ? 0 : item.line.resolution;
    const bool drifts = IsStep(event) && late <= std::max(resolution, kRounding);
    if (!drifts) {
      Begin(i, link, !IsStep(event));
      return;
    }
    offset += late;
    chain.lo = chain.hi;
  } else if (item.hi - offset < chain.lo) {
    offset = std::max(chain.length, item.hi - chain.lo);
    chain.hi = chain.lo;
    // Earlier than the previous line: from another rank.
    if (item.hi - offset < chain.lo) return;
  } else {
    chain.lo = std::max(chain.lo, item.lo - offset);
    chain.hi = std::min(chain.hi, item.hi - offset);
  }
  item.offset = chain.length = offset;
  chain.items.push_back(i);
}

void LinePlacer::Close() {
  if (!chain_) return;
  const Chain chain = *std::exchange(chain_, std::nullopt);
  if (chain.items.empty()) return;
  const Ns soonest = at_ + chain.after.value_or(0);
  const Ns lo = std::min(std::max(chain.lo, std::min(soonest, chain.hi)), chain.hi);
  Ns x = lo;
  if (!chain.earliest && chain.hi < kBounded) x = lo + (chain.hi - lo + 1) / 2;
  for (const std::size_t i : chain.items) {
    items_[i].t = at_ = std::max(at_, x + items_[i].offset);
    items_[i].linked = true;
  }
}

void LinePlacer::Place() {
  const Ns before = at_;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!items_[i].line.event) continue;
    const LogEvent& event = *items_[i].line.event;
    // An end in the middle of training, and lines of other ranks, do not change what the program does.
    const bool beside = (in_loop_ && Resumes(event.kind) && event.kind != Kind::kTrainingBegin) ||
                        (IsStep(event) && done_ && *event.step == *done_);
    if (beside) continue;
    const Link link = LinkOf(event);
    if (link.tight) {
      Extend(i, link);
    } else {
      Begin(i, link, Interrupts(event.kind));
    }
    Follow(event);
  }
  Close();
  Ns at = before;
  for (Item& item : items_) {
    if (!item.linked)
      item.t = item.exact ? *item.line.stamp : std::clamp(at, item.lo, std::max(item.lo, item.hi));
    at = std::max(at, item.t);
  }
  at_ = at;
}

}  // namespace goodput
