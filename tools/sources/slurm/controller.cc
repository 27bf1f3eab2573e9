#include "tools/sources/slurm/controller.h"

#include <pwd.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "sql/text.h"
#include "tools/sources/slurm/libslurm.h"
#include "tools/sources/slurm/recovery.h"
#include "tools/sources/slurm/sacctmgr.h"
#include "tools/sources/slurm/tres.h"

namespace goodput {
namespace {

std::string Text(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

std::optional<std::int64_t> Time(time_t time) {
  if (time <= 0 || static_cast<std::uint32_t>(time) == NO_VAL) return std::nullopt;
  return static_cast<std::int64_t>(time);
}

std::string BaseState(std::uint32_t state) {
  static constexpr std::array<const char*, 12> kNames{"PENDING",   "RUNNING",   "SUSPENDED", "COMPLETED",
                                                      "CANCELLED", "FAILED",    "TIMEOUT",   "NODE_FAIL",
                                                      "PREEMPTED", "BOOT_FAIL", "DEADLINE",  "OUT_OF_MEMORY"};
  const std::uint32_t base = state & JOB_STATE_BASE;
  return base < kNames.size() ? kNames[base] : Cat("STATE_", base);
}

std::vector<std::string> Flags(std::uint32_t state) {
  std::vector<std::string> flags;
  if ((state & JOB_COMPLETING) != 0) flags.emplace_back("COMPLETING");
  if ((state & JOB_CONFIGURING) != 0) flags.emplace_back("CONFIGURING");
  if ((state & JOB_REQUEUE) != 0) flags.emplace_back("REQUEUED");
  if ((state & JOB_REQUEUE_HOLD) != 0) flags.emplace_back("REQUEUE_HOLD");
  if ((state & JOB_SPECIAL_EXIT) != 0) flags.emplace_back("SPECIAL_EXIT");
  if (libslurm::IsExpediting(state)) flags.emplace_back("EXPEDITING");
  return flags;
}

std::string Reason(std::uint32_t reason) {
  const char* name = libslurm::ReasonName(reason);
  return name == nullptr ? Cat("REASON_", reason) : std::string(name);
}

// Few users have jobs at once, and a name service may be slow.
std::string UserName(uid_t uid, const char* known) {
  if (known != nullptr && *known != '\0') return known;
  static std::map<uid_t, std::string> names;
  const auto found = names.find(uid);
  if (found != names.end()) return found->second;
  passwd entry{};
  passwd* answer = nullptr;
  std::array<char, 4096> buffer{};
  getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &answer);
  return names.emplace(uid, answer == nullptr ? std::to_string(uid) : std::string(answer->pw_name))
      .first->second;
}

GpuCount GpusAskedFor(const slurm_job_info_t& info) {
  GpuCount gpus = GpusOfGres(Text(info.tres_per_job));
  if (gpus.gpus > 0) return gpus;
  gpus = GpusOfGres(Text(info.tres_per_node));
  gpus.gpus *= info.num_nodes;
  if (gpus.gpus > 0) return gpus;
  gpus = GpusOfGres(Text(info.tres_per_task));
  gpus.gpus *= info.num_tasks;
  return gpus;
}

ControllerJob ReadJob(const slurm_job_info_t& info) {
  ControllerJob job;
  job.job_id = info.job_id;
  job.uid = info.user_id;
  // The base state of such a job is PENDING while it runs in another cluster of the federation.
  const bool revoked = (info.job_state & JOB_REVOKED) != 0;
  job.state = revoked ? "REVOKED" : BaseState(info.job_state);
  job.flags = Flags(info.job_state);
  job.reason = Reason(info.state_reason);
  job.restart = info.restart_cnt;
  job.user = UserName(info.user_id, info.user_name);
  job.account = Text(info.account);
  job.partition = Text(info.partition);
  job.qos = Text(info.qos);
  job.name = Text(info.name);
  job.nodes = Text(info.nodes);
  job.nnodes = info.num_nodes;
  const bool allocated = info.tres_alloc_str != nullptr && *info.tres_alloc_str != '\0';
  GpuCount gpus = GpusOfTres(Text(allocated ? info.tres_alloc_str : info.tres_req_str));
  // Without slurmdbd there is no TRES gres/gpu.
  if (gpus.gpus == 0) gpus = allocated ? GpusOfGres(Text(info.gres_total)) : GpusAskedFor(info);
  job.gpus = gpus.gpus;
  job.gpu_type = gpus.type;
  job.tres = Text(allocated ? info.tres_alloc_str : info.tres_req_str);
  job.dependency = Text(info.dependency);
  job.admin_comment = Text(info.admin_comment);
  job.recovery = RecoveryAskedFor(Text(info.comment), libslurm::AsksToExpedite(info));
  job.reservation = Text(info.resv_name);
  job.failed_node = Text(libslurm::FailedNode(info));
  if (info.array_job_id != 0) {
    job.array_job = info.array_job_id;
    if (info.array_task_id != NO_VAL) job.array_task = info.array_task_id;
  }
  if (info.het_job_id != 0) job.het_job = info.het_job_id;
  const bool over = (info.job_state & JOB_STATE_BASE) > JOB_SUSPENDED;
  if (over) {
    const int status = static_cast<int>(info.exit_code);
    if (WIFSIGNALED(status)) job.exit_signal = WTERMSIG(status);
    if (WIFEXITED(status)) job.exit_code = WEXITSTATUS(status);
  }
  job.submit_s = Time(info.submit_time);
  job.eligible_s = Time(info.eligible_time);
  // A pending job's start is the scheduler's estimate.
  const bool started = (info.job_state & JOB_STATE_BASE) != JOB_PENDING;
  if (started) job.start_s = Time(info.start_time);
  if (over) job.end_s = Time(info.end_time);
  job.preempt_s = Time(info.preempt_time);
  job.suspend_s = Time(info.suspend_time);
  // pre_sus_time: seconds run before the last suspension.
  if (job.suspend_s && job.start_s && (info.job_state & JOB_STATE_BASE) == JOB_RUNNING) {
    job.suspended_s = *job.suspend_s - *job.start_s - static_cast<std::int64_t>(info.pre_sus_time);
  }
  // In minutes.
  if (info.time_limit != NO_VAL && info.time_limit != INFINITE)
    job.time_limit_s = std::int64_t{info.time_limit} * 60;
  return job;
}

std::vector<std::string> NodeFlags(std::uint32_t state) {
  std::vector<std::string> flags;
  // The base state first: if a node drains, its state in one word no longer shows that it is down.
  if ((state & NODE_STATE_BASE) == NODE_STATE_DOWN) flags.emplace_back("DOWN");
  static constexpr std::array<std::pair<std::uint32_t, const char*>, 9> kFlags{
      {{NODE_STATE_DRAIN, "DRAIN"},
       {NODE_STATE_COMPLETING, "COMPLETING"},
       {NODE_STATE_NO_RESPOND, "NOT_RESPONDING"},
       {NODE_STATE_FAIL, "FAIL"},
       {NODE_STATE_MAINT, "MAINT"},
       {NODE_STATE_POWERED_DOWN, "POWERED_DOWN"},
       {NODE_STATE_POWERING_DOWN, "POWERING_DOWN"},
       {NODE_STATE_POWERING_UP, "POWERING_UP"},
       {NODE_STATE_INVALID_REG, "INVALID_REG"}}};
  for (const auto& [bit, name] : kFlags) {
    if ((state & bit) != 0) flags.emplace_back(name);
  }
  return flags;
}

// The rule by PreemptType; "off" for preempt/none.
std::string PreemptRule(const slurm_conf_t& conf) {
  const std::string type = Text(conf.preempt_type);
  if (absl::StrContains(type, "partition_prio")) return "partition";
  if (absl::StrContains(type, "qos")) return "qos";
  return absl::StrContains(type, "none") ? "off" : "";
}

bool PreemptsNothing(std::uint16_t mode) {
  return (mode & ~(PREEMPT_MODE_GANG | PREEMPT_MODE_WITHIN)) == PREEMPT_MODE_OFF;
}

class LibslurmController : public Controller {
 public:
  LibslurmController() { slurm_init(nullptr); }

  absl::StatusOr<std::vector<ControllerJob>> Jobs() override {
    job_info_msg_t* message = nullptr;
    if (slurm_load_jobs(0, &message, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
      return Failed("slurm_load_jobs");
    LoadPreemption();
    const bool partitions_known = LoadPartitions().ok();
    std::vector<ControllerJob> jobs;
    jobs.reserve(message->record_count);
    for (std::uint32_t i = 0; i < message->record_count; ++i) {
      // In a federation, slurmctld keeps a record without a job id of an attempt that it gave up, until its
      // next clean-up.
      if (message->job_array[i].job_id == NO_VAL) continue;
      jobs.push_back(ReadJob(message->job_array[i]));
      if (partitions_known) AddPreemption(jobs.back());
    }
    slurm_free_job_info_msg(message);
    return jobs;
  }

  absl::StatusOr<std::vector<ControllerNode>> Nodes() override {
    node_info_msg_t* message = nullptr;
    if (slurm_load_node(0, &message, SHOW_ALL) != SLURM_SUCCESS) return Failed("slurm_load_node");
    std::vector<ControllerNode> nodes;
    nodes.reserve(message->record_count);
    // The first query loads them.
    if (partitions_ == nullptr) {
      if (absl::Status status = LoadPartitions(); !status.ok()) {
        slurm_free_node_info_msg(message);
        return status;
      }
    }
    slurm_populate_node_partitions(message, partitions_.get());
    for (std::uint32_t i = 0; i < message->record_count; ++i) {
      const node_info_t& info = message->node_array[i];
      ControllerNode node;
      node.name = Text(info.name);
      if (node.name.empty()) continue;
      char* state = slurm_node_state_string(info.node_state);
      node.state = Text(state);
      node.flags = NodeFlags(info.node_state);
      node.reason = Text(info.reason);
      if (!node.reason.empty()) {
        node.reason_s = Time(info.reason_time);
        if (info.reason_uid != NO_VAL) node.reason_by = UserName(info.reason_uid, nullptr);
      }
      const GpuCount gpus = GpusOfGres(Text(info.gres));
      node.gpus = gpus.gpus;
      node.gpu_type = gpus.type;
      node.partitions = Text(info.partitions);
      node.features = Text(info.features_act != nullptr ? info.features_act : info.features);
      nodes.push_back(std::move(node));
    }
    slurm_free_node_info_msg(message);
    return nodes;
  }

  std::string ClusterName() override {
    slurm_conf_t* conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || conf == nullptr) return "";
    std::string name = Text(conf->cluster_name);
    libslurm::FreeConf(conf);
    return name;
  }

 private:
  // Preemption rules change only with the configuration. What cannot be loaded is unknown.
  void LoadPreemption() {
    const auto now = std::chrono::steady_clock::now();
    if (preempt_read_ && now - *preempt_read_ < kPreemptAge) return;
    slurm_conf_t* conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || conf == nullptr) return;
    preempt_rule_ = PreemptRule(*conf);
    preempts_nothing_ = PreemptsNothing(conf->preempt_mode);
    preempts_within_qos_ = (conf->preempt_mode & PREEMPT_MODE_WITHIN) != 0;
    libslurm::FreeConf(conf);
    preempt_read_ = now;
    if (preempt_rule_ != "qos" || (qos_read_ && now - *qos_read_ < kQosAge)) return;
    qos_preemptors_ = RunPreemptors();
    qos_read_ = now;
  }

  // "qos", and those that may preempt jobs of that one, if slurmdbd reports them.
  std::string QosRule(const std::string& qos) const {
    if (!qos_preemptors_.ok()) return preempt_rule_;
    const auto found = qos_preemptors_->find(qos);
    if (found == qos_preemptors_->end()) return preempt_rule_;
    std::vector<std::string> by = found->second;
    if (preempts_within_qos_) by.push_back(qos);
    return Cat(preempt_rule_, ":", absl::StrJoin(by, ","));
  }

  void AddPreemption(ControllerJob& job) const {
    job.preempt = preempt_rule_ == "qos" ? QosRule(job.qos) : preempt_rule_;
    bool nothing = preempts_nothing_;
    for (std::uint32_t i = 0; i < partitions_->record_count; ++i) {
      const partition_info_t& partition = partitions_->partition_array[i];
      if (Text(partition.name) != job.partition) continue;
      job.priority_tier = partition.priority_tier;
      if (partition.preempt_mode != NO_VAL16) nothing = PreemptsNothing(partition.preempt_mode);
    }
    if (nothing && !job.preempt.empty()) job.preempt = "off";
  }

  // The nodes of a partition almost never change; the controller then reports no change.
  absl::Status LoadPartitions() {
    partition_info_msg_t* message = nullptr;
    const time_t known = partitions_ == nullptr ? 0 : partitions_->last_update;
    if (slurm_load_partitions(known, &message, SHOW_ALL) == SLURM_SUCCESS) {
      partitions_.reset(message);
      return absl::OkStatus();
    }
    if (partitions_ != nullptr && libslurm::LastError() == SLURM_NO_CHANGE_IN_DATA) return absl::OkStatus();
    return Failed("slurm_load_partitions");
  }

  static absl::Status Failed(const char* call) {
    return absl::UnavailableError(Cat(call, ": ", slurm_strerror(libslurm::LastError())));
  }

  struct FreePartitions {
    void operator()(partition_info_msg_t* message) const { slurm_free_partition_info_msg(message); }
  };
  std::unique_ptr<partition_info_msg_t, FreePartitions> partitions_;
  static constexpr std::chrono::seconds kPreemptAge{60};
  static constexpr std::chrono::seconds kQosAge{300};
  std::optional<std::chrono::steady_clock::time_point> qos_read_;
  std::optional<std::chrono::steady_clock::time_point> preempt_read_;
  std::string preempt_rule_;
  bool preempts_nothing_ = false;
  bool preempts_within_qos_ = false;
  absl::StatusOr<Preemptors> qos_preemptors_ = absl::UnavailableError("not asked");
};

}  // namespace

Controller& SlurmController() {
  static LibslurmController controller;
  return controller;
}

}  // namespace goodput
