#include "tools/goodputd/exec_watch.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "spank/event.h"
#include "tools/goodputd/job_record.h"
#include "tools/goodputd/log.h"

namespace goodput {
namespace {

constexpr int kExecLookMs = 1000;
constexpr int kExecLookWhileWaitingMs = 50;
// A task without a container executes its program within milliseconds of the fork.
constexpr std::int64_t kShortestSetUpNs = 100'000'000;
// The record of a task's end is this much before that of its exit, since clocks are read one after the other.
constexpr std::int64_t kBeforeExitNs = 100'000;

}  // namespace

int ExecWatch::Look(const NodeJobs& jobs) {
  std::map<pid_t, Waiting> waiting;
  std::map<pid_t, std::int64_t> settled;
  const std::vector<NodeJobs::LiveTask> live = jobs.TasksNotExited();
  RecordEnded(jobs, live);
  for (const NodeJobs::LiveTask& task : live) {
    const auto done = settled_.find(task.pid);
    if (done != settled_.end() && done->second == task.began_mono_ns) {
      settled.insert(*done);
      continue;
    }
    const std::int64_t now = clock_.mono_ns();
    const std::string program = processes_.Program(task.pid);
    const Waiting* before = WaitingOf(task);
    if (IsSlurmstepd(program)) {
      waiting[task.pid] = {task, now};
    } else if (program.empty()) {
      if (before != nullptr) waiting[task.pid] = *before;  // it ended, but there is no exit record yet
    } else {
      if (before != nullptr) Record(task, (before->seen_mono_ns + now) / 2);
      settled[task.pid] = task.began_mono_ns;
    }
  }
  waiting_ = std::move(waiting);
  settled_ = std::move(settled);
  return static_cast<int>(waiting_.size());
}

void ExecWatch::Executed(const NodeJobs& jobs, const std::vector<ExecSample>& execs) {
  if (execs.empty()) return;
  std::map<pid_t, std::int64_t> settled;
  for (const NodeJobs::LiveTask& task : jobs.TasksNotExited()) {
    const auto done = settled_.find(task.pid);
    if (done != settled_.end() && done->second == task.began_mono_ns) {
      settled.insert(*done);
      continue;
    }
    const auto exec = std::find_if(execs.begin(), execs.end(), [&](const ExecSample& sample) {
      return sample.process == task.pid && sample.mono_ns >= task.began_mono_ns;
    });
    if (exec == execs.end()) continue;
    if (exec->mono_ns - task.began_mono_ns >= kShortestSetUpNs) Record(task, exec->mono_ns);
    settled[task.pid] = task.began_mono_ns;
    waiting_.erase(task.pid);
  }
  settled_ = std::move(settled);
}

void ExecWatch::LookForEnded(const NodeJobs& jobs) {
  const std::vector<NodeJobs::LiveTask> live = jobs.TasksNotExited();
  RecordEnded(jobs, live);
  std::map<pid_t, Waiting> waiting;
  for (const NodeJobs::LiveTask& task : live) {
    const auto done = settled_.find(task.pid);
    if (done != settled_.end() && done->second == task.began_mono_ns) continue;
    const std::string program = processes_.Program(task.pid);
    const Waiting* before = WaitingOf(task);
    if (IsSlurmstepd(program)) {
      waiting[task.pid] = {task, clock_.mono_ns()};
    } else if (program.empty() && before != nullptr) {
      waiting[task.pid] = *before;  // as above
    }
  }
  waiting_ = std::move(waiting);
}

const ExecWatch::Waiting* ExecWatch::WaitingOf(const NodeJobs::LiveTask& task) const {
  const auto found = waiting_.find(task.pid);
  const bool same = found != waiting_.end() && found->second.task.began_mono_ns == task.began_mono_ns;
  return same ? &found->second : nullptr;
}

void ExecWatch::RecordEnded(const NodeJobs& jobs, const std::vector<NodeJobs::LiveTask>& live) {
  for (const auto& [pid, waiting] : waiting_) {
    const NodeJobs::LiveTask& task = waiting.task;
    const bool lives = std::any_of(live.begin(), live.end(), [&](const NodeJobs::LiveTask& one) {
      return one.pid == task.pid && one.began_mono_ns == task.began_mono_ns;
    });
    const std::optional<std::int64_t> end = lives ? std::nullopt : jobs.EndOf(task);
    if (end && *end - task.began_mono_ns >= kShortestSetUpNs) Record(task, *end - kBeforeExitNs);
  }
}

void ExecWatch::Record(const NodeJobs::LiveTask& task, std::int64_t mono_ns) {
  const NodeJob& job = *task.job;
  JobRecord record(kind::kTaskExec, job, StampAtMono(clock_, job.node, mono_ns));
  record.Text(key::kSlurmStep, task.slurm_step);
  record.Int(key::kTask, task.task);
  record.Int(key::kPid, task.pid);
  store_(job, record.Finish());
}

void RunExecWatch(const NodeContext& node, const std::atomic<bool>& traced) {
  ExecWatch watch(RealProcesses(), kSystemClock, node.spools.store());
  pollfd stop{node.stop_fd, POLLIN, 0};
  int wait_ms = 0;
  while (poll(&stop, 1, wait_ms) == 0) {
    if (traced) {
      wait_ms = kExecLookMs;
      continue;
    }
    node.jobs.Refresh();
    wait_ms = watch.Look(node.jobs) > 0 ? kExecLookWhileWaitingMs : kExecLookMs;
  }
}

}  // namespace goodput
