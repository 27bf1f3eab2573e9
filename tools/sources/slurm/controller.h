// The controller's job and node lists as plain values. Only controller.cc knows libslurm and its differences
// between releases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace goodput {

// A job as slurmctld currently has it. Times are whole seconds since the epoch; absent is unknown.
struct ControllerJob {
  std::int64_t job_id = 0;
  std::int64_t uid = 0;
  std::string state;               // base state: PENDING, RUNNING ...
  std::vector<std::string> flags;  // COMPLETING, CONFIGURING, REQUEUED ...
  std::string reason;
  std::int64_t restart = 0;
  std::string user;
  std::string account;
  std::string partition;
  std::string qos;
  std::string name;
  std::string nodes;  // compressed host list
  std::int64_t nnodes = 0;
  std::int64_t gpus = 0;
  std::string gpu_type;
  std::string tres;  // allocated, or requested
  std::string dependency;
  std::string admin_comment;
  std::string recovery;  // see RecoveryAskedFor
  std::string failed_node;
  std::string reservation;
  std::optional<std::int64_t> array_job;
  std::optional<std::int64_t> array_task;
  std::optional<std::int64_t> het_job;
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> exit_signal;
  std::optional<std::int64_t> submit_s;
  std::optional<std::int64_t> eligible_s;
  std::optional<std::int64_t> start_s;
  std::optional<std::int64_t> end_s;
  std::optional<std::int64_t> preempt_s;
  // What decides who may preempt it, from PreemptType and the PreemptMode of the cluster or its partition:
  // "off", "partition", "qos", or "qos:A,B" if it is known that jobs of those QOS may; empty: unknown.
  std::string preempt;
  std::optional<std::int64_t> priority_tier;  // PriorityTier of its partition
  std::optional<std::int64_t> suspend_s;
  std::int64_t suspended_s = 0;
  std::optional<std::int64_t> time_limit_s;
};

struct ControllerNode {
  std::string name;
  std::string state;               // Slurm's single word: IDLE, ALLOCATED, DRAINING, DOWN* ...
  std::vector<std::string> flags;  // states that this word hides: DOWN, DRAIN, COMPLETING, POWERED_DOWN ...
  std::string reason;
  std::optional<std::int64_t> reason_s;
  std::string reason_by;  // user who set the reason; empty if there is no reason
  std::int64_t gpus = 0;
  std::string gpu_type;
  std::string partitions;  // separated by commas
  std::string features;    // likewise
};

// Our own state for jobs and nodes that the controller no longer has.
inline constexpr const char* kGone = "GONE";

class Controller {
 public:
  virtual ~Controller() = default;
  virtual absl::StatusOr<std::vector<ControllerJob>> Jobs() = 0;
  virtual absl::StatusOr<std::vector<ControllerNode>> Nodes() = 0;
  virtual std::string ClusterName() = 0;
};

// The controller of $SLURM_CONF. Calls block as long as libslurm does (MessageTimeout).
Controller& SlurmController();

}  // namespace goodput
