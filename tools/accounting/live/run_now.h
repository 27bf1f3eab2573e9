// What a run that is pending or running does at this moment, since when, and what it loses by it.
//
// Pure: derived from the run's timeline alone, by the rules of reports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/accounting/timeline/goodput.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// In the order of what is wrong.
enum class NowState : std::uint8_t {
  kNoProgress,   // trained, and no step has been done for far longer than a step takes (hang.h)
  kIdle,         // holds nodes, and no task of it has been alive for `idle`
  kSlowStart,    // its program is alive, and the first step takes far longer than in its earlier starts
  kRarelySaved,  // trains; if it died now, it would lose far more than with the best interval of saves
  kSuspended,    // by the scheduler
  kStarting,     // holds nodes, and has not begun its first step
  kUnobserved,   // holds nodes, and no record says what it does
  kTraining,
  kQueued,
};
inline constexpr std::size_t kNowStates = 9;

std::string_view NowStateName(NowState state);  // "no_progress"
std::string_view NowStateText(NowState state);  // "no progress"
// Whether its GPUs do nothing useful, as far as is known.
bool WastesGpus(NowState state);

struct NowLimits {
  Ns idle = 300 * kSecond;
  // A start is slow after `slow_factor` times the longest of its earlier ones, and after `slow_start` if
  // there was none.
  double slow_factor = 2;
  Ns slow_start = 1800 * kSecond;
  Ns least_slow = 300 * kSecond;
  // Saves are rare if `rare_factor` times the best interval (Daly's) has passed without one; known after
  // `failures` failures.
  double rare_factor = 2;
  std::int64_t failures = 2;
  Ns least_rare = 600 * kSecond;
};

struct RunNow {
  NowState state = NowState::kTraining;
  Ns since = 0;  // when that began
  int gpus = 0;  // held, or wanted while it waits; 0: none
  // GPU time since then; of kRarelySaved, GPU time that it would lose. 0 if nothing is lost. Weight 1 without
  // GPUs.
  GpuNs lost = 0;
  std::string evidence;  // empty where the last step tells so; see EvidenceInWords
  std::string told;  // of kNoProgress: the line that says most of why (timeline/hang_evidence.h); or empty
};

// Empty: the run is over, or an import.
std::optional<RunNow> LookAtNow(const Timeline& timeline, const NowLimits& limits = {});

// What tells so, as one line: "step 812 began 4m00s ago, and a step takes 2.10s".
std::string EvidenceInWords(const Timeline& timeline, const RunNow& now);

// The runs of a list, summed up.
struct NowTotals {
  struct OfState {
    std::int64_t runs = 0;
    std::int64_t gpus = 0;
    GpuNs lost = 0;
  };
  std::array<OfState, kNowStates> states;

  void Add(const RunNow& run);
  void Add(const NowTotals& other);
  OfState Of(NowState state) const { return states[static_cast<std::size_t>(state)]; }
  OfState Held() const;    // with nodes
  OfState Wasted() const;  // WastesGpus
};

// "41 runs hold 2,048 GPUs, and 640 of them do nothing useful: 512 without progress in 1 run, ..."
std::string NowSummary(const NowTotals& totals);

}  // namespace goodput
