// The jobs, steps and tasks on this node, from the plugin's records since the boot: which process is which
// slurmstepd or task. They are kept for a while after their end, since the kernel's events about a process
// may be read after the plugin's record of its exit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spank/clock.h"
#include "spank/event.h"
#include "tools/goodputd/host/notice_kind.h"
#include "tools/goodputd/job_owners.h"
#include "tools/goodputd/spool_tail.h"

namespace goodput {

// One attempt of a job on one node.
struct NodeJob {
  std::string cluster;
  std::string node;
  std::int64_t job = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::optional<std::int64_t> restart;
  std::optional<std::int64_t> job_start_s;
  std::string sluid;
  std::int64_t since_ns = 0;         // `t` of its first record here
  std::optional<std::int64_t> gpus;  // of its GPUs on this node; absent: unknown, or none
  std::string gpu_ids;               // Slurm's numbers of them, as they are recorded; empty: unknown
};

struct NodeStep {
  std::shared_ptr<const NodeJob> job;
  std::string slurm_step;
};

struct NodeTask {
  NodeStep step;
  int task = 0;  // global rank
};

class NodeJobs {
 public:
  explicit NodeJobs(std::string spool_root, Clock clock = kSystemClock, const std::string& boot_id = BootId())
      : tail_(std::move(spool_root), boot_id == kUnknownBoot ? std::string() : boot_id),
        clock_(clock),
        boot_by_clock_(boot_id == kUnknownBoot),
        owners_(clock) {}
  NodeJobs(const NodeJobs&) = delete;
  NodeJobs& operator=(const NodeJobs&) = delete;

  // Reads what the spool gained.
  void Refresh();

  // Who owns a job. Refreshes if `asking` is not its owner as far as is known, within the limits of
  // JobOwners. Null: the job is not known.
  std::shared_ptr<const JobOwners::Job> OwnerOf(std::int64_t job, uid_t asking);

  // Whether the job has begun on a node of this host and has not ended.
  bool IsOnNode(std::int64_t job) const;

  // The step whose slurmstepd the process was at that time (CLOCK_MONOTONIC).
  std::optional<NodeStep> StepOfStepd(pid_t stepd, std::int64_t mono_ns) const;
  // The task whose process it was: the one Slurm started.
  std::optional<NodeTask> TaskOf(pid_t pid, std::int64_t mono_ns) const;
  // A step that runs. An empty `node` matches every node of this host.
  std::optional<NodeStep> FindStep(std::string_view node, std::int64_t job,
                                   std::string_view slurm_step) const;

  struct LiveTask {
    std::shared_ptr<const NodeJob> job;
    pid_t pid = 0;
    std::int64_t began_mono_ns = 0;
    std::string slurm_step;
    int task = 0;
  };
  // Tasks for which there is no exit record yet.
  std::vector<LiveTask> TasksNotExited() const;
  // When it exited (CLOCK_MONOTONIC), while it is kept; absent: it has not, or is unknown.
  std::optional<std::int64_t> EndOf(const LiveTask& task) const;

  struct WatchedJob {
    std::shared_ptr<const NodeJob> job;
    std::string checkpoint_dir;
    pid_t pid = 0;  // of the batch script, or of task 0
    // The lowest task of each numbered step that runs here, newest step first; at most kMostSteps.
    std::vector<pid_t> tasks;
    static constexpr std::size_t kMostSteps = 4;
  };
  // Jobs that named a checkpoint directory and whose first task (the batch script, or task 0) runs here.
  std::vector<WatchedJob> CheckpointJobs() const;

  struct OutputJob {
    std::shared_ptr<const NodeJob> job;
    std::string log_profile;
    std::string checkpoint_dir;  // if one was named
    pid_t batch_pid = 0;         // of the batch script; 0: none here
    pid_t task_pid = 0;          // of task 0 of the training step; 0: it does not run here
  };
  // Jobs that named a log profile and whose batch script or task 0 runs here.
  std::vector<OutputJob> OutputJobs() const;
  // The step to which a job's output belongs: of the numbered ones that run here, the one with most tasks;
  // otherwise the last one; otherwise the batch script.
  struct TrainingStep {
    std::string slurm_step;
    std::optional<std::int64_t> end_mono_ns;  // of its last task here; absent: it runs
    std::int64_t begin_mono_ns = 0;           // of its first task here; 0: not known
  };
  TrainingStep TrainingStepOf(const NodeJob& job) const;
  // The same at an earlier time (CLOCK_MONOTONIC), as far as tasks are kept.
  TrainingStep TrainingStepAt(const NodeJob& job, std::int64_t mono_ns) const;

  struct NoticedJob {
    std::shared_ptr<const NodeJob> job;
    std::map<std::string, NoticeKind> told;  // by notice: the last one in its records
  };
  // Jobs on the node: begun, and not known to have ended.
  std::vector<NoticedJob> NoticedJobs() const;

  // Whether the job named this source of evidence in --goodput-hang-evidence.
  bool AsksForHangEvidence(const NodeJob& job, std::string_view source) const;

  // The number of the last line of the kernel's log that a record of this boot tells of; 0: none.
  std::uint64_t LastKernelSeq() const;

  // The signals that jobs of this node named, by number and in the order in which they were first named.
  std::vector<int> NamedSignals() const;

  // How long a process is kept after its end.
  static constexpr std::int64_t kKeepNs = 60'000'000'000;

 private:
  // A pid from its record's time until its end.
  template <typename What>
  struct Spell {
    What what;
    std::int64_t begin_mono_ns = 0;
    std::optional<std::int64_t> end_mono_ns;
  };
  // The following expect mutex_ to be held.
  void RefreshLocked();
  TrainingStep TrainingStepLocked(const NodeJob& job, std::int64_t mono_ns) const;
  std::vector<pid_t> LowestTasks(const std::shared_ptr<const NodeJob>& job) const;
  void TakeLine(const std::string& node, std::string_view line);
  using JobKey = std::pair<std::string, std::int64_t>;  // node and job
  void EndJob(const JobKey& job, std::int64_t mono_ns);
  void Forget();

  mutable std::mutex mutex_;
  SpoolTail tail_;
  Clock clock_;
  bool boot_by_clock_ = false;  // only the clock shows which records are of this boot
  std::map<JobKey, std::shared_ptr<const NodeJob>> jobs_;
  std::set<JobKey> with_prolog_;                  // slurmd called the plugin's prolog for the attempt
  std::map<JobKey, std::set<std::string>> once_;  // steps of the attempt that it has once
  std::map<JobKey, std::string> checkpoint_dirs_;
  std::map<JobKey, std::string> log_profiles_;
  std::map<JobKey, std::string> hang_evidence_;
  std::map<JobKey, std::map<std::string, NoticeKind>> told_;
  std::map<pid_t, Spell<NodeStep>> stepds_;
  std::map<pid_t, Spell<NodeTask>> tasks_;
  JobOwners owners_;
  std::vector<int> named_signals_;
  std::uint64_t last_kernel_seq_ = 0;
  std::int64_t next_forget_ = 0;
};

}  // namespace goodput
