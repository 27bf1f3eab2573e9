#include "tools/goodputd/hang/stalled_jobs.h"

#include <algorithm>
#include <set>
#include <utility>

namespace goodput {
namespace {

constexpr std::int64_t kStallFactor = 5;
constexpr double kHourNs = 3600e9;

bool IsNumberedStep(const std::string& step) {
  return !step.empty() && step.find_first_not_of("0123456789") == std::string::npos;
}

// The step whose tasks train, or null.
const std::pair<const std::string, std::vector<const NodeJobs::LiveTask*>>* TrainingStep(
    const std::map<std::string, std::vector<const NodeJobs::LiveTask*>>& steps) {
  const std::pair<const std::string, std::vector<const NodeJobs::LiveTask*>>* best = nullptr;
  for (const auto& step : steps) {
    if (!IsNumberedStep(step.first)) continue;
    if (best == nullptr || step.second.size() > best->second.size()) best = &step;
  }
  if (best != nullptr) return best;
  const auto batch = steps.find("batch");
  return batch == steps.end() ? nullptr : &*batch;
}

}  // namespace

bool StalledJobs::MayLook(uid_t uid, std::int64_t mono_ns) {
  const auto [at, is_new] = budgets_.try_emplace(uid, Budget{options_.looks_an_hour, mono_ns});
  Budget& budget = at->second;
  const double grown = static_cast<double>(mono_ns - budget.at_ns) / kHourNs * options_.looks_an_hour;
  budget.left = std::min(options_.looks_an_hour, budget.left + grown);
  budget.at_ns = mono_ns;
  if (budget.left < 1) return false;
  budget.left -= 1;
  return true;
}

std::vector<StalledJob> StalledJobs::Find(const std::vector<NodeJobs::LiveTask>& live, std::int64_t mono_ns) {
  std::map<JobProgress::Job, std::map<std::string, std::vector<const NodeJobs::LiveTask*>>> jobs;
  std::set<JobProgress::Job> known;
  for (const NodeJobs::LiveTask& task : live) {
    const JobProgress::Job key{task.job->node, task.job->job};
    jobs[key][task.slurm_step].push_back(&task);
    known.insert(key);
  }
  progress_.KeepOnly(known);
  for (auto at = looked_.begin(); at != looked_.end();)
    at = known.count(at->first) != 0 ? std::next(at) : looked_.erase(at);

  std::vector<StalledJob> stalled;
  for (const auto& [key, steps] : jobs) {
    const std::optional<JobProgress::Quiet> quiet = progress_.Of(key);
    if (!quiet || mono_ns - quiet->last_mono_ns < std::max(options_.after_ns, kStallFactor * quiet->usual_ns))
      continue;
    const auto looked = looked_.find(key);
    if (looked != looked_.end() && looked->second == quiet->last_mono_ns) continue;
    const auto* step = TrainingStep(steps);
    if (step == nullptr) continue;
    StalledJob one{step->second.front()->job, step->first, quiet->last_mono_ns, 0, {}};
    // A program that was started since then has not stalled: it starts.
    bool anew = true;
    for (const NodeJobs::LiveTask* task : step->second) {
      one.tasks.push_back({task->task, task->pid});
      anew = anew && task->began_mono_ns > quiet->last_mono_ns;
    }
    if (anew || !MayLook(one.job->uid, mono_ns)) continue;
    std::sort(one.tasks.begin(), one.tasks.end(),
              [](const StalledJob::Task& a, const StalledJob::Task& b) { return a.task < b.task; });
    const auto batch = steps.find("batch");
    if (batch != steps.end()) one.batch_pid = batch->second.front()->pid;
    looked_[key] = quiet->last_mono_ns;
    stalled.push_back(std::move(one));
  }
  return stalled;
}

}  // namespace goodput
