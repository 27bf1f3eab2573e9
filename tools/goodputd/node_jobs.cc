#include "tools/goodputd/node_jobs.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "absl/strings/str_split.h"
#include "spank/event.h"
#include "sql/text.h"
#include "tools/base/signal_name.h"

namespace goodput {
namespace {

// slurmstepd writes a record just after the event, so the kernel's time of the same event is slightly
// earlier. A loaded machine may delay it by seconds, and a process that waits to run signals no other
// meanwhile.
constexpr std::int64_t kRecordDelayNs = 5'000'000'000;
// Later than any time.
constexpr std::int64_t kNow = INT64_MAX;
// Real less monotonic time of one boot, if nobody sets the clock.
constexpr std::int64_t kSameClockNs = 500'000'000;

struct Record {
  simdjson::dom::object object;
  std::optional<std::int64_t> Int(std::string_view key) const {
    std::int64_t value = 0;
    if (object[key].get(value) != simdjson::SUCCESS) return std::nullopt;
    return value;
  }
  std::string Text(std::string_view key) const {
    std::string_view value;
    if (object[key].get(value) != simdjson::SUCCESS) return {};
    return std::string(value);
  }
};

// slurmstepd starts these once for each attempt on a node.
bool IsOncePerAttempt(std::string_view step) {
  return step == "extern" || step == "batch";
}

bool IsNumbered(const std::string& step) {
  return !step.empty() && step.find_first_not_of("0123456789") == std::string::npos;
}

bool IsOf(const std::pair<std::string, std::int64_t>& job, const NodeStep& step) {
  return step.job->node == job.first && step.job->job == job.second;
}

template <typename Spells>
std::optional<decltype(Spells::mapped_type::what)> FindSpell(const Spells& spells, pid_t pid,
                                                             std::int64_t mono_ns) {
  const auto found = spells.find(pid);
  if (found == spells.end()) return std::nullopt;
  const auto& spell = found->second;
  if (mono_ns < spell.begin_mono_ns - kRecordDelayNs) return std::nullopt;
  if (spell.end_mono_ns && mono_ns > *spell.end_mono_ns) return std::nullopt;
  return spell.what;
}

template <typename Spells>
void ForgetSpells(Spells& spells, std::int64_t before) {
  for (auto at = spells.begin(); at != spells.end();) {
    at = at->second.end_mono_ns && *at->second.end_mono_ns < before ? spells.erase(at) : std::next(at);
  }
}

}  // namespace

void NodeJobs::Refresh() {
  const std::lock_guard<std::mutex> lock(mutex_);
  RefreshLocked();
}

void NodeJobs::RefreshLocked() {
  tail_.Read([this](const std::string& node, std::string_view line) { TakeLine(node, line); });
  const std::int64_t now = clock_.mono_ns();
  if (now >= next_forget_) Forget();
}

void NodeJobs::Forget() {
  const std::int64_t now = clock_.mono_ns();
  ForgetSpells(stepds_, now - kKeepNs);
  ForgetSpells(tasks_, now - kKeepNs);
  next_forget_ = now + kKeepNs;
}

void NodeJobs::EndJob(const JobKey& job, std::int64_t mono_ns) {
  // slurmstepd may have been killed before it recorded an end.
  for (auto& [pid, stepd] : stepds_) {
    if (!stepd.end_mono_ns && IsOf(job, stepd.what)) stepd.end_mono_ns = mono_ns;
  }
  for (auto& [pid, task] : tasks_) {
    if (!task.end_mono_ns && IsOf(job, task.what.step)) task.end_mono_ns = mono_ns;
  }
  jobs_.erase(job);
  with_prolog_.erase(job);
  once_.erase(job);
  checkpoint_dirs_.erase(job);
  log_profiles_.erase(job);
  hang_evidence_.erase(job);
  told_.erase(job);
}

void NodeJobs::TakeLine(const std::string& node, std::string_view line) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(line.data(), line.size());
  Record record;
  if (parser.parse(padded).get(record.object) != simdjson::SUCCESS) return;
  const std::optional<std::int64_t> job_id = record.Int(key::kJob);
  const std::string kind = record.Text(key::kKind);
  const std::int64_t mono = record.Int(key::kMonotonic).value_or(0);
  if (!job_id) return;
  if (boot_by_clock_) {
    const Moment now = ReadMoment(clock_);
    const std::int64_t offset = now.real_ns - now.mono_ns;
    if (std::abs(record.Int(key::kTime).value_or(0) - mono - offset) > kSameClockNs) return;
  }
  const JobKey job_key{node, *job_id};

  if (kind == kind::kJobEpilog) {
    EndJob(job_key, mono);
    return;
  }
  if (kind == kind::kHost) {
    told_[job_key][record.Text(key::kNotice)] = {record.Text(key::kValue), record.Int(key::kWindowS),
                                                 record.Int(key::kWindowEndS)};
    return;
  }
  if (kind == kind::kHardware) {
    last_kernel_seq_ =
        std::max(last_kernel_seq_, static_cast<std::uint64_t>(record.Int(key::kSeq).value_or(0)));
    return;
  }
  const bool begins = kind == kind::kJobProlog || kind == kind::kStepStart;
  const bool of_task = kind == kind::kTaskStart || kind == kind::kTaskExit;
  if (!begins && !of_task && kind != kind::kStepEnd) return;

  // A prolog begins an attempt; where slurmd calls none, its first step does.
  const std::string slurm_step = record.Text(key::kSlurmStep);
  const bool once = kind == kind::kStepStart && IsOncePerAttempt(slurm_step);
  if (kind == kind::kJobProlog || (once && once_[job_key].count(slurm_step) != 0)) EndJob(job_key, mono);
  if (kind == kind::kJobProlog) with_prolog_.insert(job_key);
  if (once) once_[job_key].insert(slurm_step);
  std::shared_ptr<const NodeJob>& job = jobs_[job_key];
  const std::optional<std::int64_t> uid = record.Int(key::kUid);
  if (begins && uid) owners_.Add(*job_id, static_cast<uid_t>(*uid), node, record.Text(key::kCluster));
  if (job == nullptr || (uid && static_cast<uid_t>(*uid) != job->uid)) {
    auto fresh = std::make_shared<NodeJob>();
    fresh->cluster = record.Text(key::kCluster);
    fresh->node = node;
    fresh->job = *job_id;
    fresh->uid = static_cast<uid_t>(uid.value_or(0));
    fresh->gid = static_cast<gid_t>(record.Int(key::kGid).value_or(0));
    fresh->restart = record.Int(key::kRestart);
    fresh->job_start_s = record.Int(key::kJobStart);
    fresh->sluid = record.Text(key::kSluid);
    fresh->since_ns = record.Int(key::kTime).value_or(0);
    fresh->gpus = record.Int(key::kGpus);
    fresh->gpu_ids = record.Text(key::kGpuIds);
    job = std::move(fresh);
  }
  simdjson::dom::object options;
  if (begins && record.object[key::kOpt].get(options) == simdjson::SUCCESS) {
    std::string_view named;
    if (options[key::kCheckpointDir].get(named) == simdjson::SUCCESS)
      checkpoint_dirs_[job_key] = std::string(named);
    if (options[key::kLogProfile].get(named) == simdjson::SUCCESS)
      log_profiles_[job_key] = std::string(named);
    if (options[key::kHangEvidence].get(named) == simdjson::SUCCESS)
      hang_evidence_[job_key] = std::string(named);
    if (options[key::kCheckpointSignal].get(named) == simdjson::SUCCESS) {
      for (absl::string_view number : absl::StrSplit(ToAbsl(named), ',')) {
        const std::optional<int> signo = ParseSignal(std::string(number));
        if (signo && std::find(named_signals_.begin(), named_signals_.end(), *signo) == named_signals_.end())
          named_signals_.push_back(*signo);
      }
    }
  }
  if (kind == kind::kJobProlog) return;

  const NodeStep step{job, slurm_step};
  const auto stepd = static_cast<pid_t>(record.Int(key::kStepd).value_or(0));
  if (kind == kind::kStepStart) {
    stepds_[stepd] = {step, mono, std::nullopt};
  } else if (kind == kind::kStepEnd) {
    const auto found = stepds_.find(stepd);
    if (found != stepds_.end()) found->second.end_mono_ns = mono;
    // Where slurmd calls no prolog, it calls no epilog.
    const bool runs = std::any_of(stepds_.begin(), stepds_.end(), [&](const auto& one) {
      return !one.second.end_mono_ns && IsOf(job_key, one.second.what);
    });
    if (!runs && with_prolog_.count(job_key) == 0) EndJob(job_key, mono);
  } else {
    const auto pid = static_cast<pid_t>(record.Int(key::kPid).value_or(0));
    if (pid <= 0) return;
    if (kind == kind::kTaskStart) {
      tasks_[pid] = {{step, static_cast<int>(record.Int(key::kTask).value_or(0))}, mono, std::nullopt};
    } else if (const auto found = tasks_.find(pid); found != tasks_.end()) {
      found->second.end_mono_ns = mono;
    }
  }
}

std::shared_ptr<const JobOwners::Job> NodeJobs::OwnerOf(std::int64_t job, uid_t asking) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<const JobOwners::Job> owner = owners_.Find(job);
  const auto is_theirs = [&] { return owner != nullptr && owner->uid == asking; };
  // Another user's, as far as has been read: perhaps the id was used again.
  if (is_theirs() || !owners_.MayRead(job, asking)) return owner;
  RefreshLocked();
  owner = owners_.Find(job);
  if (!is_theirs()) owners_.NoteUnknown(job, asking);
  return owner;
}

bool NodeJobs::IsOnNode(std::int64_t job) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& one) { return one.first.second == job; });
}

std::vector<int> NodeJobs::NamedSignals() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return named_signals_;
}

std::optional<NodeStep> NodeJobs::StepOfStepd(pid_t stepd, std::int64_t mono_ns) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return FindSpell(stepds_, stepd, mono_ns);
}

std::optional<std::int64_t> NodeJobs::EndOf(const LiveTask& task) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tasks_.find(task.pid);
  return found != tasks_.end() && found->second.begin_mono_ns == task.began_mono_ns
             ? found->second.end_mono_ns
             : std::nullopt;
}

std::optional<NodeTask> NodeJobs::TaskOf(pid_t pid, std::int64_t mono_ns) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return FindSpell(tasks_, pid, mono_ns);
}

std::optional<NodeStep> NodeJobs::FindStep(std::string_view node, std::int64_t job,
                                           std::string_view slurm_step) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [pid, spell] : stepds_) {
    const NodeStep& step = spell.what;
    if (!spell.end_mono_ns && step.job->job == job && step.slurm_step == slurm_step &&
        (node.empty() || step.job->node == node))
      return step;
  }
  return std::nullopt;
}

std::vector<NodeJobs::WatchedJob> NodeJobs::CheckpointJobs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<WatchedJob> watched;
  for (const auto& [key, dir] : checkpoint_dirs_) {
    const auto job = jobs_.find(key);
    if (job == jobs_.end()) continue;
    WatchedJob found{job->second, dir, 0, LowestTasks(job->second)};
    for (const auto& [pid, spell] : tasks_) {
      const NodeTask& task = spell.what;
      if (spell.end_mono_ns || task.task != 0 || task.step.job != job->second) continue;
      if (found.pid == 0 || task.step.slurm_step == "batch") found.pid = pid;
    }
    if (found.pid != 0) watched.push_back(std::move(found));
  }
  return watched;
}

std::vector<pid_t> NodeJobs::LowestTasks(const std::shared_ptr<const NodeJob>& job) const {
  struct Lowest {
    int task = 0;
    std::int64_t begin_mono_ns = 0;
    pid_t pid = 0;
  };
  std::map<std::string, Lowest> steps;
  for (const auto& [pid, spell] : tasks_) {
    const NodeTask& task = spell.what;
    if (spell.end_mono_ns || task.step.job != job || !IsNumbered(task.step.slurm_step)) continue;
    const auto [at, is_new] =
        steps.try_emplace(task.step.slurm_step, Lowest{task.task, spell.begin_mono_ns, pid});
    if (!is_new && task.task < at->second.task) at->second = {task.task, spell.begin_mono_ns, pid};
  }
  std::vector<Lowest> lowest;
  lowest.reserve(steps.size());
  for (const auto& [step, one] : steps) lowest.push_back(one);
  std::sort(lowest.begin(), lowest.end(),
            [](const Lowest& a, const Lowest& b) { return a.begin_mono_ns > b.begin_mono_ns; });
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i < std::min(lowest.size(), WatchedJob::kMostSteps); ++i)
    pids.push_back(lowest[i].pid);
  return pids;
}

NodeJobs::TrainingStep NodeJobs::TrainingStepOf(const NodeJob& job) const {
  return TrainingStepAt(job, kNow);
}

NodeJobs::TrainingStep NodeJobs::TrainingStepAt(const NodeJob& job, std::int64_t mono_ns) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return TrainingStepLocked(job, mono_ns);
}

NodeJobs::TrainingStep NodeJobs::TrainingStepLocked(const NodeJob& job, std::int64_t mono_ns) const {
  struct Life {
    int alive = 0;  // at that time
    int running = 0;
    std::int64_t begin = 0;  // of its last task
    std::int64_t end = 0;
    std::int64_t first = kNow;
  };
  std::map<std::string, Life> steps;
  for (const auto& [pid, spell] : tasks_) {
    const NodeStep& step = spell.what.step;
    if (step.job->job != job.job || step.job->node != job.node || step.job->since_ns != job.since_ns)
      continue;
    if (spell.begin_mono_ns > mono_ns && step.slurm_step != "batch") continue;
    Life& life = steps[step.slurm_step];
    life.alive += spell.end_mono_ns.value_or(kNow) >= mono_ns ? 1 : 0;
    life.running += spell.end_mono_ns ? 0 : 1;
    life.begin = std::max(life.begin, spell.begin_mono_ns);
    life.end = std::max(life.end, spell.end_mono_ns.value_or(0));
    life.first = std::min(life.first, spell.begin_mono_ns);
  }
  const auto* best = static_cast<const std::pair<const std::string, Life>*>(nullptr);
  for (const auto& step : steps) {
    if (!IsNumbered(step.first)) continue;
    const Life& life = step.second;
    if (best == nullptr || std::tie(life.alive, life.end, life.begin) >
                               std::tie(best->second.alive, best->second.end, best->second.begin))
      best = &step;
  }
  const auto batch = steps.find("batch");
  // After an srun, the script may train without one.
  const bool over = best != nullptr && mono_ns != kNow && best->second.alive == 0 &&
                    mono_ns > best->second.end + kRecordDelayNs && batch != steps.end() &&
                    batch->second.alive > 0;
  if (best == nullptr || over) {
    if (batch == steps.end()) return {"batch", std::nullopt, 0};
    best = &*batch;
  }
  TrainingStep found{best->first, std::nullopt, best->second.first};
  if (best->second.running == 0) found.end_mono_ns = best->second.end;
  return found;
}

std::vector<NodeJobs::OutputJob> NodeJobs::OutputJobs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<OutputJob> found;
  for (const auto& [key, profile] : log_profiles_) {
    const auto job = jobs_.find(key);
    if (job == jobs_.end()) continue;
    const auto dir = checkpoint_dirs_.find(key);
    OutputJob output{job->second, profile, dir == checkpoint_dirs_.end() ? "" : dir->second, 0, 0};
    const std::string training = TrainingStepLocked(*job->second, kNow).slurm_step;
    for (const auto& [pid, spell] : tasks_) {
      const NodeTask& task = spell.what;
      if (spell.end_mono_ns || task.task != 0 || task.step.job != job->second) continue;
      if (task.step.slurm_step == "batch") {
        output.batch_pid = pid;
      } else if (task.step.slurm_step == training) {
        output.task_pid = pid;
      }
    }
    if (output.batch_pid != 0 || output.task_pid != 0) found.push_back(std::move(output));
  }
  return found;
}

std::vector<NodeJobs::NoticedJob> NodeJobs::NoticedJobs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<NoticedJob> found;
  for (const auto& [key, job] : jobs_) {
    const auto told = told_.find(key);
    found.push_back({job, told == told_.end() ? std::map<std::string, NoticeKind>() : told->second});
  }
  return found;
}

bool NodeJobs::AsksForHangEvidence(const NodeJob& job, std::string_view source) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = hang_evidence_.find({job.node, job.job});
  if (found == hang_evidence_.end()) return false;
  const std::vector<absl::string_view> sources = absl::StrSplit(found->second, ',');
  return std::find(sources.begin(), sources.end(), ToAbsl(source)) != sources.end();
}

std::uint64_t NodeJobs::LastKernelSeq() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_kernel_seq_;
}

std::vector<NodeJobs::LiveTask> NodeJobs::TasksNotExited() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<LiveTask> live;
  for (const auto& [pid, spell] : tasks_) {
    if (!spell.end_mono_ns)
      live.push_back(
          {spell.what.step.job, pid, spell.begin_mono_ns, spell.what.step.slurm_step, spell.what.task});
  }
  return live;
}

}  // namespace goodput
