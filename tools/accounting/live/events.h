// What happened to a run that somebody may want to be told of: an interruption, a stall, the end of a stall.
//
// Pure: derived from the run's timeline alone, by the rules of reports. Each event has an id that is the same
// whenever it is derived from the same records, so that nobody is told of it twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/accounting/live/run_now.h"
#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

enum class EventKind : std::uint8_t {
  kInterruption,
  kCorrection,   // what was told of an interruption turned out to be wrong
  kStall,        // a running run makes no progress: NowState::kNoProgress
  kStallEnd,     // it makes progress again, or its program has ended
  kFailingNode,  // a node fails more often than by chance (rollup/node_chance.h)
  kTest,
};
std::string_view EventKindName(EventKind kind);  // "stall_end"

// The run that an event is about, from outside of its timeline.
struct EventRun {
  std::string cluster;
  std::string run;  // its name; the job's if it has none
  std::string user;
  std::string account;
  std::string partition;
};

struct Event {
  EventKind kind = EventKind::kTest;
  std::string id;
  std::string corrects;  // of a correction: the id of the interruption
  Ns time = 0;           // when it happened, or began
  EventRun run;
  std::int64_t job_id = 0;  // 0: not about a job
  std::string node;         // that caused it, or that fails; empty: not known, or none
  std::string cause;        // of an interruption, by the names of reports; empty: another kind
  bool planned = false;     // of an interruption
  int gpus = 0;             // of the attempt; 0: none
  // What it has cost so far; absent: nothing is measured.
  std::optional<Ns> lost;
  std::optional<GpuNs> gpu_lost;  // in time if the run has no GPUs
  std::string text;               // one line for people
  std::vector<std::string> evidence;
  std::string command;  // looks closer
};

// All interruptions of the run, in order. The cost is what reports by cause count for it.
std::vector<Event> InterruptionEvents(const EventRun& run, const Timeline& timeline);

// What was told of an interruption. Records that arrive later may show another cause.
struct ToldInterruption {
  Ns time = 0;
  std::string cause;
  std::string node;
  bool planned = false;
  int corrections = 0;
};
ToldInterruption AsTold(const Event& interruption);
// The same interruption, as it is known now, as a correction; absent: what was told is right, or it was
// corrected often enough.
std::optional<Event> CorrectionOf(const Event& interruption, const ToldInterruption& told);

// A run that makes no progress now; absent: it does, or this is not known.
std::optional<Event> StallEvent(const EventRun& run, const Timeline& timeline);

// A stall that was told of: enough to find it again.
struct ToldStall {
  std::string id;  // of its event
  std::int64_t job_id = 0;
  Ns since = 0;
};
bool IsOfRun(const ToldStall& told, const EventRun& run, const Timeline& timeline);
// The end of such a stall; absent: it goes on, this is not known, or it is another run's.
std::optional<Event> StallEndEvent(const EventRun& run, const Timeline& timeline, const ToldStall& told);

}  // namespace goodput
