#include "tools/sources/otel/live_spans.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sql/status_macros.h"

namespace goodput {
namespace {

// A rank is first heard of at most this long after the others of its start: a span arrives five seconds after
// its end.
constexpr Ns kRanksApart = 10 * kSecond;

bool IsOfProgram(const Span& span) {
  switch (span.kind) {
    case Span::Kind::kOther:
    case Span::Kind::kStartup:
    case Span::Kind::kBackdated:
    case Span::Kind::kLaunch:
      return false;
    default:
      return true;
  }
}

// May belong to a save whose span has not arrived.
bool LiesInSave(const Span& span) {
  return span.kind == Span::Kind::kSave || span.kind == Span::Kind::kSkewWait ||
         (span.kind == Span::Kind::kOther && span.call);
}

bool Encloses(const Span& outer, const Span& inner) {
  return outer.kind == Span::Kind::kExposedSave && outer.start <= inner.start && outer.end >= inner.end;
}

}  // namespace

bool LiveSpans::IsRead(const SpanProcess& process, const Span& span) {
  if (process.writer || process.launcher) return false;
  if (process.identity == identity_) return true;
  if (!IsOfProgram(span) || others_.count(process.identity) != 0) return false;
  const bool follows = span.start >= last_ && (process.rank == rank_ || span.start - last_ > kRanksApart);
  if (identity_.empty() || follows) {
    if (!identity_.empty() && others_.size() < kMostProcesses) others_.insert(identity_);
    identity_ = process.identity;
    rank_ = process.rank;
    begins_ = true;
    return true;
  }
  if (others_.size() < kMostProcesses) others_.insert(process.identity);
  return false;
}

absl::Status LiveSpans::Take(const SpanProcess& process, const Span& span) {
  if (span.kind == Span::Kind::kOther && !span.call) return absl::OkStatus();
  if (!IsRead(process, span)) return TellOther(process, span);
  if (std::exchange(begins_, false)) {
    RETURN_IF_ERROR(TellUntil(waiting_.size()));
    RETURN_IF_ERROR(fold_.Begin(static_cast<int>(told_ > 0), true, rank_));
    last_ = 0;
    if (process.world) RETURN_IF_ERROR(TellWorld(*process.world, span.start));
  }
  if (IsOfProgram(span)) last_ = std::max(last_, span.end);
  waiting_.push_back(span);
  return waiting_.size() < kMostWaiting ? absl::OkStatus() : TellUntil(waiting_.size());
}

absl::Status LiveSpans::TellWorld(std::int64_t world, Ns t) {
  if (!gpus_) return absl::OkStatus();
  if (!world_ && world == *gpus_) world_ = world;
  if (!world_ || world == *world_ || world > *gpus_) return absl::OkStatus();
  world_ = world;
  Speaker speaker;
  speaker.rank = rank_;
  return sink_.World({t, world, *gpus_, std::nullopt}, speaker, told_++ * SpanFold::kOffsets);
}

// An older process of the same rank is no other rank.
absl::Status LiveSpans::TellOther(const SpanProcess& process, const Span& span) {
  if (process.writer || process.launcher || !process.rank || !rank_ || process.rank == rank_)
    return absl::OkStatus();
  return ranks_.Take(*process.rank, span, 0, told_++ * SpanFold::kOffsets);
}

absl::Status LiveSpans::Tell() {
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const Span& a, const Span& b) {
    return std::tuple(a.start, -a.end, NestingOf(a.kind)) < std::tuple(b.start, -b.end, NestingOf(b.kind));
  });
  const auto waits = std::find_if(waiting_.begin(), waiting_.end(), [&](const Span& inner) {
    if (!LiesInSave(inner)) return false;
    return std::none_of(waiting_.begin(), waiting_.end(), [&](const Span& other) {
      const bool went_on = !LiesInSave(other) && IsOfProgram(other) && other.start >= inner.end;
      return went_on || Encloses(other, inner);
    });
  });
  return TellUntil(static_cast<std::size_t>(waits - waiting_.begin()));
}

absl::Status LiveSpans::TellUntil(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    RETURN_IF_ERROR(fold_.Take(waiting_[i], told_++ * SpanFold::kOffsets));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  return absl::OkStatus();
}

absl::Status LiveSpans::Finish() {
  RETURN_IF_ERROR(TellUntil(waiting_.size()));
  return fold_.Finish();
}

}  // namespace goodput
