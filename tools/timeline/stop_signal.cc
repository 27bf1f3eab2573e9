#include "tools/timeline/stop_signal.h"

namespace goodput {
namespace {

bool InitialState(const AttemptFacts& attempt) {
  return !attempt.end && attempt.state != "COMPLETED";
}

}  // namespace

std::optional<Ns> StopSignal(const AttemptFacts& attempt, const Program& program) {
  if (attempt.preempt_time && *attempt.preempt_time <= program.summary.end &&
      *attempt.preempt_time >= program.summary.begin) {
    return attempt.preempt_time;
  }
  return std::nullopt;
}

bool Finished(const AttemptFacts& attempt, const Program& program, bool last_of_attempt) {
  if (!program.summary.ended || StopSignal(attempt, program)) return false;
  if (program.summary.exit_code || program.summary.exit_signal) {
    return !program.summary.exit_signal && program.summary.exit_code.value_or(0) == 0 &&
           (!last_of_attempt || attempt.state == "COMPLETED" || InitialState(attempt));
  }
  return last_of_attempt && attempt.state == "COMPLETED";
}

}  // namespace goodput
