#include "tools/goodputd/job_watch_loop.h"

#include <optional>

#include "tools/goodputd/checkpoints/checkpoint_watcher.h"
#include "tools/goodputd/counts_file.h"
#include "tools/goodputd/hang/hang_watcher.h"
#include "tools/goodputd/hang/py_spy.h"
#include "tools/goodputd/hang/stalled_jobs.h"
#include "tools/goodputd/job_watches.h"
#include "tools/goodputd/output/output_watcher.h"

namespace goodput {
namespace {

// Between two looks at which jobs there are.
constexpr std::int64_t kLookForJobsNs = 1'000'000'000;

CountsFile::Names NamesOf(JobWatchCounts& counts) {
  return {{"jobs", &counts.jobs},
          {"helpers", &counts.helpers},
          {"most_helpers", &counts.most_helpers},
          {"waiting_s", &counts.waiting_s}};
}

}  // namespace

void RunJobWatches(const NodeContext& node) {
  JobWatches::Options options;
  options.stop_fd = node.stop_fd;
  options.limits = HelperLimitsOf(ReadCgroupLimits());
  EndedOutputs ended_outputs;
  JobWatches watches(options);
  const HangSources& hang = node.config.hang_evidence;
  std::optional<StalledJobs> stalled;
  if (node.progress != nullptr && hang.any())
    stalled.emplace(StalledJobs::Options{absl::ToInt64Nanoseconds(node.config.hang_evidence_after)},
                    *node.progress);
  CountsFile file(node.config.spool + "/watches");
  do {
    node.jobs.Refresh();
    watches.Follow(
        "checkpoints", node.jobs.CheckpointJobs(),
        [&](const NodeJobs::WatchedJob& job) { return CheckpointWatcher::Make(node, job); },
        [](JobWatcher& watcher, const NodeJobs::WatchedJob& job) {
          static_cast<CheckpointWatcher&>(watcher).SetTasks(job.tasks);
        });
    watches.Follow(
        "output", node.jobs.OutputJobs(),
        [&](const NodeJobs::OutputJob& job) { return MakeOutputWatcher(node, job, ended_outputs); },
        [](JobWatcher& /*watcher*/, const NodeJobs::OutputJob& /*job*/) {});
    if (stalled) {
      watches.Follow(
          "hang", stalled->Find(node.jobs.TasksNotExited(), kSystemClock.mono_ns()),
          [&](const StalledJob& job) {
            const bool asks = hang.py_spy && node.jobs.AsksForHangEvidence(*job.job, "py-spy");
            return MakeHangWatcher(job, hang, asks ? FindPySpy(node.config.py_spy) : "", node.spools);
          },
          [](JobWatcher& /*watcher*/, const StalledJob& /*job*/) {});
    }
    JobWatchCounts counts = watches.Counts();
    file.Write(NamesOf(counts));
  } while (watches.Serve(kSystemClock.mono_ns() + kLookForJobsNs));
}

}  // namespace goodput
