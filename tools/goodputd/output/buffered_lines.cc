#include "tools/goodputd/output/buffered_lines.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace goodput {
namespace {

// The smallest buffer in use (C's), of which a line may be cut off.
constexpr std::int64_t kBlockBytes = 4000;
// What may be the first part of a block: srun forwards at most 1 KiB at a time.
constexpr std::int64_t kPartBytes = 900;
// Without lines for so long, an output has paused. Looks are more frequent.
constexpr std::int64_t kQuietNs = 500'000'000;
constexpr std::int64_t kFewestSteps = 2;
constexpr std::int64_t kShortestHoldNs = 60'000'000'000;

void AddTo(std::vector<FoundEvent>& events, std::vector<FoundEvent> more) {
  events.insert(events.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

// Whether a line's time is only that of the look.
bool BufferedLines::IsUndated(const FoundEvent& event, std::int64_t first_ns) {
  return !event.event.time && !event.event.elapsed_s && event.t_ns >= first_ns;
}

std::int64_t BufferedLines::StepsIn(const std::vector<FoundEvent>& events, std::int64_t first_ns) {
  return std::count_if(events.begin(), events.end(), [&](const FoundEvent& event) {
    return event.event.kind == LogEvent::Kind::kStepEnd && IsUndated(event, first_ns);
  });
}

// At an even pace, by the end of each line.
void BufferedLines::Spread(Block& block, std::int64_t from_ns) {
  const auto bytes = static_cast<double>(std::max<std::int64_t>(block.end - block.begin, 1));
  const auto whole = static_cast<double>(block.last_ns - from_ns);
  std::int64_t line_end = block.end;
  std::int64_t next = block.end;
  for (auto event = block.events.rbegin(); event != block.events.rend(); ++event) {
    if (event->offset < next) line_end = std::exchange(next, event->offset);
    if (!IsUndated(*event, block.first_ns)) continue;
    const double part = std::clamp(static_cast<double>(line_end - block.begin) / bytes, 0.0, 1.0);
    event->t_ns = from_ns + static_cast<std::int64_t>(part * whole);
    event->late_ns = event->t_ns - from_ns;
  }
}

std::vector<FoundEvent> BufferedLines::Release(std::vector<FoundEvent> more) {
  if (!held_) return more;
  std::vector<FoundEvent> events = std::move(held_->events);
  held_.reset();
  AddTo(events, std::move(more));
  return events;
}

std::optional<std::int64_t> BufferedLines::held_from() const {
  if (held_) return held_->begin;
  return open_ ? std::make_optional(open_->begin) : std::nullopt;
}

std::vector<FoundEvent> BufferedLines::TakeBlock(Block block, bool last) {
  const bool big = block.end - block.begin >= kBlockBytes;
  const bool several = StepsIn(block.events, block.first_ns) >= kFewestSteps;
  const bool went_on = lines_before_ns_ != 0 && lines_ns_ - lines_before_ns_ < kQuietNs;
  lines_before_ns_ = std::exchange(lines_ns_, block.last_ns);
  if (lines_before_ns_ == 0) {
    if (!several || !big || last) return std::move(block.events);
    held_ = std::move(block);
    return {};
  }
  in_blocks_ = several && (in_blocks_ || (!went_on && (big || (last && held_))));
  if (!in_blocks_) return Release(std::move(block.events));
  if (held_) {
    const std::int64_t bytes = std::max<std::int64_t>(block.end - block.begin, 1);
    const std::int64_t each = (block.last_ns - held_->last_ns) / bytes;
    Spread(*held_, std::max(since_ns_, held_->last_ns - each * (held_->end - held_->begin)));
  }
  Spread(block, lines_before_ns_);
  return Release(std::move(block.events));
}

std::vector<FoundEvent> BufferedLines::Take(const Look& look, std::vector<FoundEvent> events) {
  const std::int64_t now = look.now_ns;
  const std::int64_t steps = StepsIn(events, now);
  if (open_) {
    Block block = *std::move(open_);
    open_.reset();
    if (steps > 0) {
      block.end = look.end;
      block.last_ns = now;
    }
    AddTo(block.events, std::move(events));
    return TakeBlock(std::move(block), look.last);
  }
  if (steps == 0) {
    if (!held_) return events;
    const std::int64_t hold = std::max(kShortestHoldNs, (held_->last_ns - since_ns_) * 3 / 2);
    if (look.last || now - held_->last_ns > hold) return Release(std::move(events));
    AddTo(held_->events, std::move(events));
    return {};
  }
  const bool paused = lines_ns_ == 0 || now - lines_ns_ >= kQuietNs;
  const bool part = look.end - look.begin >= kPartBytes || in_blocks_ || held_;
  if (paused && part && look.all) {
    Block block{look.begin, look.end, now, now, std::move(events)};
    if (look.last) return TakeBlock(std::move(block), true);
    open_ = std::move(block);
    return {};
  }
  in_blocks_ = false;
  lines_before_ns_ = std::exchange(lines_ns_, now);
  return Release(std::move(events));
}

}  // namespace goodput
