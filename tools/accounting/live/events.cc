#include "tools/accounting/live/events.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "sql/text.h"
#include "tools/accounting/rollup/rollup.h"
#include "tools/accounting/timeline/hang_evidence.h"
#include "tools/base/format.h"

namespace goodput {
namespace {

constexpr std::array<std::string_view, 6> kEventNames{"interruption", "correction",   "stall",
                                                      "stall_end",    "failing_node", "test"};
constexpr int kMostCorrections = 10;

const AttemptFacts& FactsOf(const Timeline& timeline, int attempt) {
  return *timeline.attempts[static_cast<std::size_t>(attempt)].facts;
}

// "CLUSTER/JOB@SUBMIT": a controller that lost its state uses the same job ids again.
std::string JobInId(const EventRun& run, const Timeline& timeline, std::int64_t job_id) {
  Ns submit = 0;
  for (const AttemptSummary& attempt : timeline.attempts) {
    if (attempt.facts->job_id != job_id) continue;
    submit = submit == 0 ? attempt.facts->submit : std::min(submit, attempt.facts->submit);
  }
  return Cat(run.cluster, "/", job_id, "@", submit / kSecond);
}

std::string WhichRun(const EventRun& run, std::int64_t job_id) {
  return Cat(run.run.empty() ? "a run" : Cat("run ", run.run), " of ", run.user.empty() ? "?" : run.user,
             " (job ", job_id, run.cluster.empty() ? "" : Cat(" on ", run.cluster), ")");
}

std::string CostText(const Event& event) {
  if (!event.lost || *event.lost < kSecond) return "";
  if (event.gpus == 0 || !event.gpu_lost) return Cat("; lost ", FormatDuration(*event.lost), " so far");
  return Cat("; lost ", FormatDuration(*event.lost), " of ", event.gpus, event.gpus == 1 ? " GPU" : " GPUs",
             " so far");
}

// "node_fail, node n1"
std::string CauseText(const std::string& cause, bool planned, const std::string& node) {
  return Cat(cause, planned ? ", planned" : "", node.empty() ? "" : Cat(", node ", node));
}

Event InterruptionEvent(const EventRun& run, const Timeline& timeline, const Interruption& interruption) {
  Event event;
  const AttemptFacts& facts = FactsOf(timeline, interruption.attempt);
  event.kind = EventKind::kInterruption;
  event.time = interruption.time;
  event.run = run;
  event.job_id = facts.job_id;
  event.node = interruption.node;
  event.cause = interruption.cause;
  event.planned = interruption.planned;
  event.gpus = facts.gpus;
  event.evidence = interruption.evidence;
  event.command = Cat("sgoodput show ", facts.job_id);
  return event;
}

void AddCost(Event& event, Ns ns, GpuNs gpu_ns) {
  event.lost = event.lost.value_or(0) + ns;
  event.gpu_lost = event.gpu_lost.value_or(0) + gpu_ns;
}

bool Trains(NowState state) {
  return state == NowState::kTraining || state == NowState::kRarelySaved;
}

}  // namespace

std::string_view EventKindName(EventKind kind) {
  return kEventNames.at(static_cast<std::size_t>(kind));
}

std::vector<Event> InterruptionEvents(const EventRun& run, const Timeline& timeline) {
  std::vector<Event> events;
  std::map<int, int> of_attempt;
  for (const Interruption& interruption : timeline.interruptions) {
    Event event = InterruptionEvent(run, timeline, interruption);
    // By attempt: records of another one that arrive late change nothing.
    const Ns submit = FactsOf(timeline, interruption.attempt).submit;
    event.id = Cat("interruption/", run.cluster, "/", event.job_id, "@", submit / kSecond, "/",
                   ++of_attempt[interruption.attempt]);
    events.push_back(std::move(event));
  }
  if (events.empty()) return events;
  const GpuWeights weights(timeline);
  for (const Interval& interval : timeline.intervals) {
    const Interruption* const of = InterruptionOf(timeline, interval);
    if (of == nullptr) continue;
    GpuNs gpu_ns = 0;
    for (const GpuWeights::Share& share : weights.Split(interval, interval.begin, interval.end))
      gpu_ns += share.gpu_ns;
    AddCost(events[static_cast<std::size_t>(of - timeline.interruptions.data())],
            interval.end - interval.begin, gpu_ns);
  }
  for (Event& event : events) {
    event.text =
        Cat(WhichRun(run, event.job_id),
            " was interrupted: ", CauseText(event.cause, event.planned, event.node), CostText(event));
  }
  return events;
}

ToldInterruption AsTold(const Event& interruption) {
  return {interruption.time, interruption.cause, interruption.node, interruption.planned, 0};
}

std::optional<Event> CorrectionOf(const Event& interruption, const ToldInterruption& told) {
  const bool right = interruption.cause == told.cause && interruption.node == told.node &&
                     interruption.planned == told.planned;
  if (right || told.corrections >= kMostCorrections) return std::nullopt;
  Event correction = interruption;
  correction.kind = EventKind::kCorrection;
  correction.corrects = interruption.id;
  correction.id = Cat(interruption.id, "/correction/", told.corrections + 1);
  const std::string before = CauseText(told.cause, told.planned, told.node);
  correction.text = Cat("Correction: ", interruption.text, "; before: ", before);
  return correction;
}

bool IsOfRun(const ToldStall& told, const EventRun& run, const Timeline& timeline) {
  return told.id == Cat("stall/", JobInId(run, timeline, told.job_id), "/", told.since / kSecond);
}

std::optional<Event> StallEvent(const EventRun& run, const Timeline& timeline) {
  const std::optional<RunNow> now = LookAtNow(timeline);
  if (!now || now->state != NowState::kNoProgress) return std::nullopt;
  Event event;
  event.kind = EventKind::kStall;
  event.time = now->since;
  event.run = run;
  event.job_id = timeline.attempts.back().facts->job_id;
  event.id = Cat("stall/", JobInId(run, timeline, event.job_id), "/", now->since / kSecond);
  event.gpus = now->gpus;
  AddCost(event, timeline.now - now->since, now->lost);
  event.evidence = {now->evidence};
  if (!timeline.stalls.empty()) {
    const Stall& stall = timeline.stalls.back();
    for (std::string& line : AllInWords(timeline, stall)) event.evidence.push_back(std::move(line));
  }
  event.text = Cat(WhichRun(run, event.job_id), " makes no progress: ", now->evidence,
                   now->told.empty() ? "" : Cat("; ", now->told), CostText(event));
  event.command = Cat("sgoodput watch ", event.job_id);
  return event;
}

std::optional<Event> StallEndEvent(const EventRun& run, const Timeline& timeline, const ToldStall& told) {
  if (!IsOfRun(told, run, timeline)) return std::nullopt;
  const std::optional<Event> still = StallEvent(run, timeline);
  if (still && still->id == told.id) return std::nullopt;
  const std::optional<RunNow> now = LookAtNow(timeline);
  const bool same_job = now && timeline.attempts.back().facts->job_id == told.job_id;
  const auto stall = std::find_if(timeline.stalls.begin(), timeline.stalls.end(), [&](const Stall& one) {
    return one.last_progress / kSecond == told.since / kSecond &&
           FactsOf(timeline, one.attempt).job_id == told.job_id;
  });
  const bool recovered = stall != timeline.stalls.end() && stall->recovered;
  // Its node is silent, or it is suspended: nothing says that the stall is over.
  if (same_job && !still && !recovered && !Trains(now->state) &&
      (now->state == NowState::kUnobserved || now->state == NowState::kSuspended))
    return std::nullopt;
  Event event;
  event.kind = EventKind::kStallEnd;
  event.id = Cat("stall_end/", told.id.substr(told.id.find('/') + 1));
  event.run = run;
  event.job_id = told.job_id;
  event.time = stall != timeline.stalls.end() ? stall->end : timeline.end;
  event.command = Cat("sgoodput show ", told.job_id);
  std::string how = "its program has ended";
  if (stall == timeline.stalls.end()) {
    how = "later records show that it made progress";
  } else {
    event.gpus = FactsOf(timeline, stall->attempt).gpus;
    AddCost(event, stall->end - told.since,
            static_cast<GpuNs>(stall->end - told.since) * (GpuWeights(timeline).has_gpus() ? event.gpus : 1));
    if (recovered) how = "it makes progress again";
  }
  event.text = Cat("The stall of ", WhichRun(run, told.job_id), " is over: ", how, CostText(event));
  return event;
}

}  // namespace goodput
