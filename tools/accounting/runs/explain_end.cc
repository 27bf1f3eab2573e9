#include "tools/accounting/runs/explain_end.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "spank/event.h"
#include "sql/status_macros.h"
#include "sql/tables/accounting.h"
#include "sql/tables/event_cursor.h"
#include "sql/text.h"
#include "tools/accounting/runs/lack_of_machines.h"
#include "tools/base/hostlist.h"

namespace goodput {
namespace {

// A node that went down this long after an attempt's end is unrelated to it.
constexpr Ns kDownSlack = 5 * kSecond;
// A silent node is set down after SlurmdTimeout, 300 s by default.
constexpr Ns kNoticedWithin = 900 * kSecond;
constexpr Ns kTakeoverSlack = 120 * kSecond;
// An administrator who drains a node for repair requeues its jobs soon, or lets them run.
constexpr Ns kDrainedBefore = 600 * kSecond;
constexpr Ns kHeldAfter = 60 * kSecond;

// slurm-gcp's reason for a node whose machine was preempted; its other reasons, "Instance terminated" and
// "Unbacked instance", are failures.
constexpr absl::string_view kMachinePreempted = "Preempted instance";

// Slurm itself drains nodes with one of these reasons.
bool IsSlurmsOwnReason(absl::string_view reason) {
  constexpr std::array<absl::string_view, 10> kSlurms{
      "Kill task failed", "Not responding", "Prolog error",      "Epilog error",    "Low ",
      "gres/gpu count",   "batch job",      "Node unexpectedly", "Duplicate jobid", "NHC"};
  return std::any_of(kSlurms.begin(), kSlurms.end(),
                     [&](absl::string_view own) { return absl::StartsWith(reason, own); });
}

class EndExplainer {
 public:
  EndExplainer(Database& db, const EndOwner& owner, AttemptFacts& attempt)
      : db_(db),
        owner_(owner),
        cluster_(owner.cluster),
        attempt_(attempt),
        start_(*attempt.start),
        end_(*attempt.end),
        last_noticed_(end_ + kDownSlack) {
    const std::vector<std::string> names = ExpandHostList(attempt.node_list);
    nodes_.insert(names.begin(), names.end());
  }

  absl::Status FindDownNodes(const AttemptFacts* next);
  absl::Status FindPreemptor();
  absl::Status FindOperator(const AttemptFacts* next);

 private:
  void WentDown(const std::string& node, Ns since, const std::string& reason);
  void AddLack(const std::string& node, Ns t, const std::string& reason);
  // A job that started, and its partition's PriorityTier if the watch saw it.
  struct Start {
    AccountingRow job;
    std::optional<std::int64_t> tier;
  };
  absl::StatusOr<std::vector<Start>> WatchedStarts(Ns from, Ns to);
  absl::StatusOr<std::vector<Start>> Starts(Ns from, Ns to);
  enum class MayPreempt { kNo, kYes, kUnknown };
  MayPreempt MayItPreempt(const Start& other) const;
  bool OnOurNodes(const std::string& node_list) const;

  Database& db_;
  const EndOwner& owner_;
  const std::string& cluster_;
  AttemptFacts& attempt_;
  Ns start_;
  Ns end_;
  Ns last_noticed_;  // a node that goes down later is unrelated to the end
  std::set<std::string> nodes_;
  std::set<std::string> down_;
};

void EndExplainer::WentDown(const std::string& node, Ns since, const std::string& reason) {
  if (nodes_.count(node) == 0 || since < start_ || since > last_noticed_) return;
  const bool lost =
      node == attempt_.failed_node || (attempt_.state == "NODE_FAIL" && attempt_.failed_node.empty());
  if (since > end_ + kDownSlack && !lost) return;
  if (lost) attempt_.noticed = std::max(attempt_.noticed.value_or(since), since);
  if (!down_.insert(node).second) return;
  if (absl::StrContains(reason, kMachinePreempted)) attempt_.taken_node = node;
  AddLack(node, since, reason);
  std::string& said = attempt_.down_nodes;
  said += Cat(said.empty() ? "" : "; ", "node ", node, " went down: ", reason);
}

void EndExplainer::AddLack(const std::string& node, Ns t, const std::string& reason) {
  std::optional<MachineLack> lack = ReadLackOfMachines(reason);
  if (!lack) return;
  lack->t = t;
  lack->node = node;
  attempt_.lacks.push_back(*std::move(lack));
}

absl::Status EndExplainer::FindDownNodes(const AttemptFacts* next) {
  // If a job's node is lost, the reported end may be when the node was last heard from.
  if (attempt_.state == "NODE_FAIL" || !attempt_.failed_node.empty())
    last_noticed_ = std::max(last_noticed_, end_ + kNoticedWithin);
  if (next != nullptr && next->start) last_noticed_ = std::min(last_noticed_, std::max(end_, *next->start));
  // A node may be up again before the watch looks; slurmdbd still knows.
  ASSIGN_OR_RETURN(std::vector<NodeOutage> outages,
                   LoadOutages(db_, cluster_, start_ / kSecond, last_noticed_ / kSecond));
  for (const NodeOutage& outage : outages) {
    if (absl::StartsWith(outage.state, "DOWN"))
      WentDown(outage.node, outage.start_s * kSecond, outage.reason);
  }
  EventCursor states(db_, EventsOf::NoJob(cluster_, kind::kNodeState, start_,
                                          std::max(last_noticed_, end_) + kTakeoverSlack + 1));
  while (states.Next()) {
    const EventView& event = states.event();
    if (!absl::StartsWith(event.Text(key::kState), "DOWN")) continue;
    const std::optional<std::int64_t> since_s = event.Int(key::kReasonS);
    WentDown(event.Text(key::kNodeName), since_s ? *since_s * kSecond : event.t_ns, event.Text(key::kReason));
  }
  RETURN_IF_ERROR(states.status());
  if (attempt_.lacks.empty()) AddLack("", end_, attempt_.admin_comment);
  if (attempt_.state == "NODE_FAIL" && attempt_.failed_node.empty() && down_.size() == 1)
    attempt_.failed_node = *down_.begin();
  return absl::OkStatus();
}

// Jobs that started in [from, to], according to the watch.
absl::StatusOr<std::vector<EndExplainer::Start>> EndExplainer::WatchedStarts(Ns from, Ns to) {
  EventCursor events(db_, EventsOf::Watch(cluster_, kind::kAttempt, from, to + 1));
  std::vector<Start> starts;
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  while (events.Next()) {
    const EventView& event = events.event();
    const std::optional<std::int64_t> start_s = event.Int(key::kStartS);
    const std::int64_t job = event.Int(key::kJob).value_or(0);
    if (!start_s || *start_s < from / kSecond || !seen.emplace(job, *start_s).second) continue;
    Start start;
    start.job.job_id = job;
    start.job.job_id_text = Cat(job);
    start.job.submit_s = event.Int(key::kSubmitS).value_or(*start_s);
    start.job.start_s = start_s;
    start.job.partition = event.Text(key::kPartition);
    start.job.qos = event.Text(key::kQos);
    start.job.node_list = event.Text(key::kNodes);
    start.tier = event.Int(key::kPriorityTier);
    starts.push_back(std::move(start));
  }
  RETURN_IF_ERROR(events.status());
  return starts;
}

// The watch knows a job before accounting does, and accounting may know more about it.
absl::StatusOr<std::vector<EndExplainer::Start>> EndExplainer::Starts(Ns from, Ns to) {
  ASSIGN_OR_RETURN(std::vector<AccountingRow> rows,
                   LoadStartedBetween(db_, cluster_, from / kSecond, to / kSecond));
  ASSIGN_OR_RETURN(std::vector<Start> watched, WatchedStarts(from, to));
  std::vector<Start> starts;
  for (AccountingRow& row : rows) {
    const auto seen = std::find_if(watched.begin(), watched.end(), [&](const Start& start) {
      return start.job.job_id == row.job_id && start.job.start_s == row.start_s;
    });
    std::optional<std::int64_t> tier;
    if (seen != watched.end()) {
      tier = seen->tier;
      watched.erase(seen);
    }
    starts.push_back({std::move(row), tier});
  }
  std::move(watched.begin(), watched.end(), std::back_inserter(starts));
  return starts;
}

// By PreemptType; if it is unknown, a job does not preempt others of its own partition and QOS.
EndExplainer::MayPreempt EndExplainer::MayItPreempt(const Start& other) const {
  const bool same_partition = other.job.partition == owner_.partition;
  const bool same_qos = other.job.qos == owner_.qos;
  if (attempt_.preempt == "off") return MayPreempt::kNo;
  absl::string_view by = ToAbsl(attempt_.preempt);
  if (absl::ConsumePrefix(&by, "qos:") && !other.job.qos.empty()) {
    const std::vector<absl::string_view> may = absl::StrSplit(by, ',');
    return std::find(may.begin(), may.end(), other.job.qos) != may.end() ? MayPreempt::kYes : MayPreempt::kNo;
  }
  if (absl::StartsWith(attempt_.preempt, "qos")) {
    if (same_qos) return MayPreempt::kNo;
    return other.job.qos.empty() || owner_.qos.empty() ? MayPreempt::kUnknown : MayPreempt::kYes;
  }
  if (attempt_.preempt == "partition") {
    if (same_partition) return MayPreempt::kNo;
    if (!other.tier || !attempt_.priority_tier) return MayPreempt::kUnknown;
    return *other.tier > *attempt_.priority_tier ? MayPreempt::kYes : MayPreempt::kNo;
  }
  return same_partition && same_qos ? MayPreempt::kNo : MayPreempt::kUnknown;
}

bool EndExplainer::OnOurNodes(const std::string& node_list) const {
  const std::vector<std::string> theirs = ExpandHostList(node_list);
  return std::any_of(theirs.begin(), theirs.end(),
                     [&](const std::string& n) { return nodes_.count(n) != 0; });
}

// Slurm does not record who requests a requeue, but it records who drains a node, or holds the job.
absl::Status EndExplainer::FindOperator(const AttemptFacts* next) {
  EventCursor states(
      db_, EventsOf::NoJob(cluster_, kind::kNodeState, end_ - kDrainedBefore, end_ + kDownSlack + 1));
  while (states.Next()) {
    const EventView& event = states.event();
    if (nodes_.count(event.Text(key::kNodeName)) == 0) continue;
    const std::vector<std::string> flags = event.Texts(key::kFlags);
    if (std::find(flags.begin(), flags.end(), "DRAIN") == flags.end()) continue;
    const Ns since = event.Int(key::kReasonS).value_or(0) * kSecond;
    const std::string by = event.Text(key::kReasonBy);
    const std::string reason = event.Text(key::kReason);
    if (by.empty() || by == owner_.user || IsSlurmsOwnReason(ToAbsl(reason))) continue;
    if (since < std::max(start_, end_ - kDrainedBefore) || since > end_ + kSecond) continue;
    attempt_.operator_acted = Cat("node ", event.Text(key::kNodeName), " was drained by ", by, " ",
                                  std::max<Ns>(0, end_ - since) / kSecond, " s before the end: ", reason);
    return absl::OkStatus();
  }
  if (next == nullptr || !states.status().ok()) return states.status();
  const bool held =
      std::any_of(next->pending.begin(), next->pending.end(), [&](const PendingReason& pending) {
        return pending.reason == "JobHeldAdmin" && pending.t <= end_ + kHeldAfter;
      });
  if (held) attempt_.operator_acted = "an administrator held the job right afterwards";
  return absl::OkStatus();
}

absl::Status EndExplainer::FindPreemptor() {
  ASSIGN_OR_RETURN(std::vector<Start> others, Starts(end_, end_ + kTakeoverSlack));
  // Slurm itself reports the preemption; only the preemptor is to be found.
  const bool preempted = attempt_.preempt_time || attempt_.state == "PREEMPTED";
  for (const Start& other : others) {
    const AccountingRow& job = other.job;
    if (job.job_id == attempt_.job_id || !OnOurNodes(job.node_list)) continue;
    const MayPreempt may = MayItPreempt(other);
    if (may == MayPreempt::kNo) continue;
    // Otherwise only a job that waited for these very nodes counts.
    const bool waited =
        job.submit_s < *job.start_s || (!owner_.in_accounting && job.partition != owner_.partition);
    const bool at_once = *job.start_s <= end_ / kSecond + 1 && waited;
    if (!preempted && !at_once) continue;
    std::string words = Cat("job ", job.job_id_text, " of partition ", job.partition,
                            " started on its nodes ", *job.start_s - end_ / kSecond, " s later");
    if (preempted || may == MayPreempt::kYes) {
      attempt_.preempted_by = std::move(words);
      attempt_.taken_by.clear();
      break;
    }
    if (attempt_.taken_by.empty()) attempt_.taken_by = std::move(words);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExplainEnd(Database& db, const EndOwner& owner, const AttemptFacts* next,
                        AttemptFacts& attempt) {
  // An attempt that had completed needs no explanation.
  if (!attempt.start || !attempt.end || attempt.state == "COMPLETED") return absl::OkStatus();
  EndExplainer explainer(db, owner, attempt);
  RETURN_IF_ERROR(explainer.FindDownNodes(next));
  if (!attempt.preempt_time && attempt.state != "PREEMPTED" && attempt.state != "REQUEUED")
    return absl::OkStatus();
  RETURN_IF_ERROR(explainer.FindPreemptor());
  return attempt.state == "REQUEUED" ? explainer.FindOperator(next) : absl::OkStatus();
}

}  // namespace goodput
