#include "tools/accounting/runs/scheduler_facts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "spank/event.h"
#include "sql/text.h"

namespace goodput {
namespace {

Ns FromSeconds(std::int64_t seconds) {
  return seconds * kSecond;
}

std::optional<Ns> FromSeconds(const std::optional<std::int64_t>& seconds) {
  if (!seconds) return std::nullopt;
  return FromSeconds(*seconds);
}

// "cpu=8,mem=4000M,node=1": the amount of one of them; memory in MiB without a unit, and in bytes as a
// result.
std::optional<double> AmountOfTres(std::string_view tres, std::string_view name) {
  constexpr std::string_view kUnits = "KMGTPE";
  constexpr double kUnit = 1024;
  for (const absl::string_view item : absl::StrSplit(ToAbsl(tres), ',')) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (words.first != ToAbsl(name)) continue;
    absl::string_view digits = words.second;
    const std::size_t unit = digits.empty() ? std::string_view::npos : kUnits.find(digits.back());
    if (unit != std::string_view::npos) digits.remove_suffix(1);
    double amount = 0;
    if (!absl::SimpleAtod(digits, &amount) || !(amount >= 0 && amount < 1e15)) return std::nullopt;
    if (name != "mem") return amount;
    // Slurm counts memory in MiB.
    const std::size_t power = unit == std::string_view::npos ? 2 : unit + 1;
    for (std::size_t i = 0; i < power; ++i) amount *= kUnit;
    return amount;
  }
  return std::nullopt;
}

}  // namespace

bool OfWatch(const EventView& event) {
  return event.kind == kind::kQueue || event.kind == kind::kAttempt || event.kind == kind::kGone;
}

void SchedulerFacts::AddAccounting(const AccountingRow& row) {
  Draft& draft = drafts_.Of(row.submit_s);
  AttemptFacts& facts = draft.facts;
  draft.in_accounting = true;
  if (const auto plus = row.job_id_text.find('+'); plus != std::string::npos) {
    std::int64_t leader = 0;
    if (absl::SimpleAtoi(ToAbsl(row.job_id_text).substr(0, plus), &leader)) het_job_ = leader;
  }
  if (const auto task = row.job_id_text.find('_'); task != std::string::npos) {
    std::int64_t array = 0;
    if (absl::SimpleAtoi(ToAbsl(row.job_id_text).substr(0, task), &array)) array_job_ = array;
  }
  draft.suspended_s = row.suspended_s;
  facts.eligible = FromSeconds(row.eligible_s);
  // Some releases' accounting has the moment in which a federation revoked a job as its start.
  if (row.state != "REVOKED") facts.start = FromSeconds(row.start_s);
  facts.end = FromSeconds(row.end_s);
  facts.state = row.state;
  if (row.exit_code) facts.exit_code = static_cast<int>(*row.exit_code);
  if (row.exit_signal) facts.exit_signal = static_cast<int>(*row.exit_signal);
  if (row.restarts) facts.restart = static_cast<int>(*row.restarts);
  facts.reason = row.reason;
  facts.failed_node = row.failed_node;
  facts.admin_comment = row.admin_comment;
  facts.cancelled_by = row.cancelled_by;
  facts.step_out_of_memory = row.derived_signal == kStepRanOutOfMemory;
  facts.node_list = row.node_list;
  facts.nodes = static_cast<int>(row.nodes);
  facts.gpus = static_cast<int>(row.gpus);
  facts.evidence = Evidence::kAccounting;
  facts.reservation = row.reservation;
  facts.time_limit = FromSeconds(row.time_limit_s);
  if (!row.gpu_type.empty()) run_.gpu_types.insert(row.gpu_type);
  run_.info = {row.cluster,     row.job_id,
               row.job_id_text, run_.info.run,
               row.name,        row.user,
               row.account,     row.partition,
               row.qos,         row.state,
               row.gpu_type,    std::move(run_.info.tags),
               row.reservation, run_.info.checkpoint_dir};
}

void SchedulerFacts::AddWatch(const EventView& event, Ns t) {
  const std::optional<std::int64_t> submit = event.Int(key::kSubmitS);
  if (!submit) return;
  // A requeue has a new submit time; while the old allocation completes, the record still describes the old
  // one.
  Draft& draft = drafts_.Of(*submit);
  AttemptFacts& facts = draft.facts;
  const std::string state = event.Text(key::kState);
  if (event.kind == kind::kGone) {
    // The controller forgot the job before the watch saw its end, perhaps because it lost its state.
    if (draft.in_accounting || facts.end || draft.state_final) return;
    facts.end = t / kSecond * kSecond;
    facts.state = run_.info.state = state;
    return;
  }
  if (const auto array = event.Int(key::kArrayJob)) array_job_ = array;
  if (const auto preempt = event.Int(key::kPreemptS)) preemptions_.insert(FromSeconds(*preempt));
  if (const std::string preempt = event.Text(key::kPreempt); !preempt.empty()) facts.preempt = preempt;
  if (const auto tier = event.Int(key::kPriorityTier)) facts.priority_tier = tier;
  if (state == "PENDING") {
    facts.pending.push_back(
        {t, event.Text(key::kReason), sources_.Ref(event), WaitsForOwnRun(event.Text(key::kDependency))});
  }
  AddSuspension(event, state, draft);
  if (const std::string reservation = event.Text(key::kReservation); !reservation.empty())
    facts.reservation = run_.info.reservation = reservation;
  if (const std::string recovery = event.Text(key::kRecovery); !recovery.empty()) facts.recovery = recovery;
  if (const auto limit = event.Int(key::kTimeLimitS)) facts.time_limit = FromSeconds(*limit);
  if (state == "RUNNING") {
    const std::string tres = event.Text(key::kTres);
    if (const auto cpus = AmountOfTres(tres, "cpu")) facts.cpus = static_cast<std::int64_t>(*cpus);
    if (const auto memory = AmountOfTres(tres, "mem")) facts.memory_bytes = memory;
  }
  const std::string failed_node = event.Text(key::kFailedNode);
  if (!failed_node.empty()) facts.failed_node = failed_node;
  const std::string comment = event.Text(key::kAdminComment);
  if (!comment.empty()) facts.admin_comment = comment;
  // slurmdbd's tables lose quotes and, depending on their character set, most non-Latin characters.
  if (const std::string name = event.Text(key::kName); !name.empty()) run_.info.name = name;
  // While a requeued job completes, slurmctld's start time keeps advancing, and the end is not told.
  const std::vector<std::string> flags = event.Texts(key::kFlags);
  const bool completing = std::find(flags.begin(), flags.end(), "COMPLETING") != flags.end();
  if (std::find(flags.begin(), flags.end(), "EXPEDITING") != flags.end()) facts.expediting = true;
  if (std::find(flags.begin(), flags.end(), "CONFIGURING") != flags.end()) {
    const std::optional<Ns> since = FromSeconds(event.Int(key::kStartS));
    if (since && (!draft.configuring_since || *since < *draft.configuring_since))
      draft.configuring_since = since;
  }
  if (const auto leader = event.Int(key::kHetJob)) het_job_ = leader;
  const bool over = state != "PENDING" && state != "RUNNING" && state != "SUSPENDED";
  const std::optional<Ns> end = FromSeconds(event.Int(key::kEndS));
  if (!completing) {
    // While a requeued job completes, its record has the next restart count and still the old submit time.
    if (const auto restart = event.Int(key::kRestart)) facts.restart = static_cast<int>(*restart);
    draft.state_final = over;
    if (!facts.end || (draft.end_from_look && over && end)) facts.end = end;
    draft.end_from_look = false;
    // Of a job that was requeued when it was over, accounting has the time of the requeue as its end.
    if (over && end && facts.state == "REQUEUED" && facts.start && *end >= *facts.start &&
        *end < *facts.end) {
      facts.end = end;
      facts.requeued_when_over = true;
    }
    // For a job cancelled before it started, slurmctld reports the end as its start.
    if (!facts.start && !(draft.state_final && event.Text(key::kNodes).empty()))
      facts.start = FromSeconds(event.Int(key::kStartS));
  } else if (!draft.in_accounting && facts.start && !facts.end) {
    // Seen completing for the first time: it ended between the last look and this one.
    draft.end_from_look = !over || !end || *end > t;
    facts.end = draft.end_from_look ? t / kSecond * kSecond : *end;
  }
  if (const std::string nodes = event.Text(key::kNodes);
      state == "RUNNING" && !completing && !nodes.empty()) {
    draft.nodes_changed |= !draft.running_nodes.empty() && draft.running_nodes != nodes;
    draft.running_nodes = nodes;
  }
  if (draft.in_accounting && facts.state != "RUNNING" && facts.state != "PENDING") return;
  facts.state = state;
  if (const auto code = event.Int(key::kExitCode)) facts.exit_code = static_cast<int>(*code);
  if (const auto signal = event.Int(key::kExitSignal)) facts.exit_signal = static_cast<int>(*signal);
  run_.info.state = state;
  if (draft.in_accounting) return;
  facts.evidence = Evidence::kScheduler;
  if (const auto eligible = FromSeconds(event.Int(key::kEligibleS))) facts.eligible = eligible;
  facts.node_list = event.Text(key::kNodes);
  facts.nodes = static_cast<int>(event.Int(key::kNnodes).value_or(0));
  const int gpus = static_cast<int>(event.Int(key::kGpus).value_or(0));
  if (state == "RUNNING" && !completing && gpus > 0) {
    if (draft.running_gpus > 0 && gpus != draft.running_gpus)
      facts.resizes.push_back({t, draft.running_gpus});
    facts.gpus = draft.running_gpus = gpus;
  } else if (draft.running_gpus == 0) {
    facts.gpus = std::max(facts.gpus, gpus);
  }
  draft.suspended_s = event.Int(key::kSuspendedS).value_or(0);
  RunInfo& info = run_.info;
  info.cluster = event.Text(key::kCluster);
  info.job_id = event.Int(key::kJob).value_or(0);
  info.job_id_text = Cat(info.job_id);
  if (const auto array_job = event.Int(key::kArrayJob)) {
    if (const auto array_task = event.Int(key::kArrayTask))
      info.job_id_text = Cat(*array_job, "_", *array_task);
  }
  info.name = event.Text(key::kName);
  info.user = event.Text(key::kUser);
  info.account = event.Text(key::kAccount);
  info.partition = event.Text(key::kPartition);
  info.qos = event.Text(key::kQos);
  info.gpu_type = event.Text(key::kGpuType);
  if (!info.gpu_type.empty()) run_.gpu_types.insert(info.gpu_type);
}

// afterok:12(unfulfilled),afterany:13_*(unfulfilled): true if all of them are jobs of the run. A singleton
// does not name what it waits for; in a run of several jobs it waits for those.
bool SchedulerFacts::WaitsForOwnRun(std::string_view dependency) const {
  bool any = false;
  for (absl::string_view one : absl::StrSplit(ToAbsl(dependency), absl::ByAnyChar(",?"), absl::SkipEmpty())) {
    any = true;
    if (absl::StartsWith(one, "singleton")) {
      if (jobs_of_run_.size() < 2) return false;
      continue;
    }
    const std::vector<absl::string_view> words = absl::StrSplit(one.substr(0, one.find('(')), ':');
    for (std::size_t i = 1; i < words.size(); ++i) {
      std::int64_t job = 0;
      if (!absl::SimpleAtoi(words[i].substr(0, words[i].find_first_of("_+")), &job)) return false;
      if (jobs_of_run_.count(job) == 0) return false;
    }
  }
  return any;
}

// Slurm sets the suspend time when it suspends and again when it resumes.
void SchedulerFacts::AddSuspension(const EventView& event, const std::string& state, Draft& draft) {
  const std::optional<Ns> since = FromSeconds(event.Int(key::kSuspendS));
  if (!since) return;
  if (state != "SUSPENDED") draft.resumed = since;
  if (state == "SUSPENDED") {
    if (!draft.suspended_since) draft.suspended_since = since;
  } else if (draft.suspended_since) {
    // A job that ended while suspended was not resumed.
    const Ns resumed = *since > *draft.suspended_since
                           ? *since
                           : FromSeconds(event.Int(key::kEndS)).value_or(*draft.suspended_since);
    draft.facts.suspended.push_back({*draft.suspended_since, resumed, true});
    draft.suspended_since.reset();
  }
}

}  // namespace goodput
