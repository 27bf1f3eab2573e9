// A run as the time series that Google's goodput library writes to Cloud Monitoring, so that dashboards made
// for it show runs that nobody instrumented. Pure.
//
// All are gauges of compute.googleapis.com/workload/..., of the resource compute.googleapis.com/Workload, and
// have the labels accelerator_type and cluster_name (if the cluster has a name) besides those given here.
// Times are wall time in seconds, whatever the number of GPUs: standby, idle_member and missing are in none.
//
//   name                  unit  labels                          source
//   goodput_time          s     goodput_source=TOTAL            bucket productive
//   badput_time           s     badput_source                   all other buckets but hold
//   total_elapsed_time    s     window_type=cumulative          all buckets but hold: the sum of both
//   disruptions           1     window_type=cumulative          interruptions
//   max_productive_steps  1                                     the highest kept step
//   performance           s     (only cluster_name)             the median step, in Google's words the ideal
//   step_time_deviation   s                                     |productive time of a kept step - the median|
//   interval_goodput      %     goodput_source=TOTAL, rolling_window_size    as goodput_time, of the last
//   interval_badput       %     badput_source, rolling_window_size           1, 3 and 5 days
//   stepping_slice_efficiency, available_slice_efficiency    only of an elastic run: the mean share of the
//                         0..1  window_type=CUMULATIVE, rolling_window_size=0; and of the last 1, 3 and 5
//                               days: window_type=INTERVAL, rolling_window_size     wanted GPUs that stepped,
//                               and that were allocated, while the program said how many it wanted
//
// A badput_source is Google's name if it means the same, otherwise CUSTOM_BADPUT_EVENTS.BUCKET. Each source
// is always there, if only as 0: Cloud Monitoring shows the last value of one that is no longer written.
//   startup             TPU_INITIALIZATION (init), UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME (restore),
//                       PROGRAM_STARTUP (compile), DATA_LOADING_SYNC (data_loading, dataloader),
//                       ELASTIC_REINITIALIZATION (elastic_reinit), TRAINING_PREP (the rest)
//   checkpoint_save     UNPRODUCTIVE_CHECKPOINT_SAVE_TIME
//   lost_work           WASTED_PROGRESS_FROM_DISRUPTION
//   requeue_backoff, resubmit_gap; drain, teardown and stall if an interruption ended the work, queue_* and
//   provisioning after one                       INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION
//   unobserved          OTHER: what is not known to be progress does not count as goodput
// A value that is not known is not written: steps of a run without any, windows without time of the run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/accounting/metrics/exposition.h"
#include "tools/accounting/timeline/timeline.h"

namespace goodput {

// What a run is called in a project that may have several clusters.
struct Workload {
  std::string id;
  std::string cluster;  // may be empty
  std::string accelerator;
};

// CLUSTER/USER/RUN, or CLUSTER/JOB if the run has no name; without CLUSTER/ if that is empty.
std::string WorkloadId(std::string_view cluster, std::string_view user, std::string_view run,
                       std::string_view job);
// Google's name of a GPU: "h100" is NVIDIA-H100. GPU: another one, or unknown; UNKNOWN: none.
std::string AcceleratorType(std::string_view gpu_type, bool has_gpus);

// The time of a run within [begin, end), by source: elapsed = goodput + the sum of badput, exactly.
struct WorkloadTimes {
  Ns elapsed = 0;
  Ns goodput = 0;
  std::map<std::string, Ns> badput;  // has all sources
};
WorkloadTimes TimesOfWorkload(const Timeline& timeline, Ns begin, Ns end);

struct WorkloadSeries {
  std::string type;
  MetricLabels labels;
  std::variant<double, std::int64_t> value;
};

// Empty: the run has no time yet.
// Shares 0..1 of the GPUs that an elastic program wanted, as means over the time of its marks of the world
// within [begin, end). Absent: there is no such time.
struct SliceEfficiency {
  double stepping = 0;
  double available = 0;
};
std::optional<SliceEfficiency> EfficiencyOfSlices(const Timeline& timeline, Ns begin, Ns end);

std::vector<WorkloadSeries> SeriesOfWorkload(const Workload& workload, const Timeline& timeline);

// {"workload_id":ID,"metric":{...},"valueType":TYPE,"value":{...}} without a newline, as Cloud Monitoring's
// messages have these; an integer is a string.
std::string SeriesLine(const Workload& workload, const WorkloadSeries& series);

}  // namespace goodput
