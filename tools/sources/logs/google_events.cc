#include "tools/sources/logs/google_events.h"

#include <algorithm>
#include <string>

#include "tools/sources/logs/google_entry.h"

namespace goodput {
namespace {

using Kind = LogEvent::Kind;

LogEvent Event(Kind kind, Ns t) {
  LogEvent event;
  event.kind = kind;
  event.time = LineTime{LineTime::Kind::kAbsolute, t};
  return event;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text.substr(0, 128));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

}  // namespace

std::vector<LogEvent> GoogleEvents(std::string_view line) {
  const std::size_t begin = line.find('{');
  if (begin == std::string_view::npos || line.back() != '}') return {};
  // Searching is cheaper than parsing.
  const bool likely = line.find("\"job_name\"") != std::string_view::npos ||
                      line.find("\"event_type\"") != std::string_view::npos;
  if (!likely) return {};
  std::string padded(line.substr(begin));
  const std::size_t length = padded.size();
  padded.resize(length + GoogleEntryParser::kPadding);
  static thread_local GoogleEntryParser parser;
  GoogleEntry entry;
  const absl::StatusOr<bool> taken = parser.Parse(std::string_view(padded).substr(0, length), entry);
  if (!taken.ok() || !*taken || !entry.HasPlausibleTime()) return {};
  std::vector<LogEvent> events;
  if (entry.job_start) events.push_back(Event(Kind::kProgramBegin, *entry.job_start));
  for (const GoogleEntry::Phase& phase : entry.phases) {
    for (const bool begins : {true, false}) {
      const std::optional<Ns>& t = begins ? phase.start : phase.end;
      if (!t) continue;
      events.push_back(Event(begins ? Kind::kPhaseBegin : Kind::kPhaseEnd, *t));
      events.back().name = LowerCase(phase.name);
    }
  }
  if (entry.step) {
    events.push_back(Event(Kind::kStepBegin, entry.step_start));
    events.back().step = *entry.step;
  }
  if (entry.checkpoint != GoogleEntry::Checkpoint::kNone) {
    const bool save = entry.checkpoint == GoogleEntry::Checkpoint::kSave;
    const Ns end = entry.checkpoint_end.value_or(entry.checkpoint_start);
    events.push_back(Event(save ? Kind::kSave : Kind::kRestoreEnd, end));
    events.back().step = entry.checkpoint_step;
    events.back().took_ns = end - entry.checkpoint_start;
    if (save) events.back().began = LineTime{LineTime::Kind::kAbsolute, entry.checkpoint_start};
  }
  if (entry.job_end) events.push_back(Event(Kind::kProgramEnd, *entry.job_end));
  return events;
}

}  // namespace goodput
