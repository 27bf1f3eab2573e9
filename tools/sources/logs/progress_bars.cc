#include "tools/sources/logs/progress_bars.h"

#include <algorithm>
#include <tuple>

#include "sql/text.h"

namespace goodput {
namespace {

bool IsBar(const LogEvent& event) {
  return event.kind == LogEvent::Kind::kStepEnd && event.elapsed_s && event.of;
}

}  // namespace

void Counters::See(const LogEvent& event) {
  if (!IsBar(event)) return;
  Course& course = bars_[*event.of];
  ++course.states;
  course.seconds = std::max(course.seconds, *event.elapsed_s);
}

std::optional<std::int64_t> Counters::Chosen() const {
  const auto best = std::max_element(bars_.begin(), bars_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.seconds, a.second.states, a.first) <
           std::tie(b.second.seconds, b.second.states, b.first);
  });
  return best == bars_.end() ? std::nullopt : std::optional<std::int64_t>(best->first);
}

bool Counters::IsTrainings(const LogEvent& event) const {
  return !IsBar(event) || bars_.empty() || *event.of == Chosen();
}

std::string Counters::Why() const {
  if (bars_.size() < 2) return "";
  const std::int64_t chosen = *Chosen();
  const Course& course = bars_.at(chosen);
  std::string others;
  std::size_t named = 0;
  for (const auto& [of, other] : bars_) {
    if (of == chosen) continue;
    if (++named > 3) {
      others += ", ...";
      break;
    }
    others +=
        Cat(others.empty() ? "" : ", ", "to ", of, " (", other.seconds, " s, ", other.states, " states)");
  }
  return Cat("steps are taken from the progress bar to ", chosen, ", which was shown longest (",
             course.seconds, " s, ", course.states, " states); ignored: ", others);
}

}  // namespace goodput
