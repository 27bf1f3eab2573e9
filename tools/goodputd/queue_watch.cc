#include "tools/goodputd/queue_watch.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "spank/json_text.h"
#include "sql/text.h"

namespace goodput {
namespace {

void AddTime(RecordBuilder& record, std::string_view name, const std::optional<std::int64_t>& value) {
  if (value) record.Int(name, *value);
}

// Text of unlimited length from users and administrators must not push other members out of a record.
constexpr std::size_t kMaxNameBytes = 2100;
constexpr std::size_t kMaxCommentBytes = 512;
constexpr std::size_t kMaxDependencyBytes = 512;
constexpr std::size_t kMaxTresBytes = 160;

// As much of the text as takes at most this many bytes in a record; a control character takes six.
std::string_view Fitting(std::string_view text, std::size_t max_bytes) {
  std::size_t bytes = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t length = Utf8SequenceLength(text.substr(end));
    QuoteJson(text.substr(end, std::max<std::size_t>(length, 1)), [&](std::string_view piece) {
      bytes += piece.size();
      return true;
    });
    bytes -= 2;  // its quotes
    if (bytes > max_bytes) break;
    end += std::max<std::size_t>(length, 1);
  }
  return text.substr(0, end);
}

// The least valuable members are dropped first if a record is still too long.
void AddLongText(RecordBuilder& record, std::string_view name, std::string_view value,
                 std::size_t max_bytes) {
  if (!value.empty()) record.Text(name, Fitting(value, max_bytes), Worth::kTags);
}

void AddText(RecordBuilder& record, std::string_view name, const std::string& value) {
  if (!value.empty()) record.Text(name, value, Worth::kFreeText);
}

// Everything but the stamp, so that an unchanged job gives the same bytes at each look.
void AddJob(RecordBuilder& record, const ControllerJob& job, const std::string& cluster) {
  if (!cluster.empty()) record.Text(key::kCluster, cluster);
  record.Int(key::kJob, job.job_id);
  record.Int(key::kUid, job.uid);
  AddTime(record, key::kArrayJob, job.array_job);
  AddTime(record, key::kArrayTask, job.array_task);
  AddTime(record, key::kHetJob, job.het_job);
  record.Text(key::kState, job.state);
  if (!job.flags.empty()) record.Texts(key::kFlags, job.flags);
  if (!job.reason.empty() && job.reason != "None") record.Text(key::kReason, job.reason);
  record.Int(key::kRestart, job.restart);
  AddTime(record, key::kSubmitS, job.submit_s);
  AddTime(record, key::kEligibleS, job.eligible_s);
  AddTime(record, key::kStartS, job.start_s);
  AddTime(record, key::kEndS, job.end_s);
  AddTime(record, key::kPreemptS, job.preempt_s);
  AddText(record, key::kPreempt, job.preempt);
  AddTime(record, key::kPriorityTier, job.priority_tier);
  AddTime(record, key::kSuspendS, job.suspend_s);
  if (job.suspended_s > 0) record.Int(key::kSuspendedS, job.suspended_s);
  AddTime(record, key::kExitCode, job.exit_code);
  AddTime(record, key::kExitSignal, job.exit_signal);
  record.Int(key::kNnodes, job.nnodes);
  record.Int(key::kGpus, job.gpus);
  AddText(record, key::kGpuType, job.gpu_type);
  AddText(record, key::kUser, job.user);
  AddText(record, key::kAccount, job.account);
  AddText(record, key::kPartition, job.partition);
  AddText(record, key::kQos, job.qos);
  AddText(record, key::kNodes, job.nodes);
  AddText(record, key::kFailedNode, job.failed_node);
  AddText(record, key::kReservation, job.reservation);
  AddText(record, key::kRecovery, job.recovery);
  // Half a list of jobs would name others.
  if (job.dependency.size() <= kMaxDependencyBytes)
    AddLongText(record, key::kDependency, job.dependency, kMaxDependencyBytes);
  AddTime(record, key::kTimeLimitS, job.time_limit_s);
  AddLongText(record, key::kAdminComment, job.admin_comment, kMaxCommentBytes);
  if (job.tres.size() <= kMaxTresBytes) AddLongText(record, key::kTres, job.tres, kMaxTresBytes);
  AddLongText(record, key::kName, job.name, kMaxNameBytes);
}

void AddNode(RecordBuilder& record, const ControllerNode& node, const std::string& cluster) {
  if (!cluster.empty()) record.Text(key::kCluster, cluster);
  record.Text(key::kNodeName, node.name);
  record.Text(key::kState, node.state);
  if (!node.flags.empty()) record.Texts(key::kFlags, node.flags);
  if (node.gpus > 0) record.Int(key::kGpus, node.gpus);
  AddText(record, key::kGpuType, node.gpu_type);
  AddTime(record, key::kReasonS, node.reason_s);
  AddText(record, key::kReasonBy, node.reason_by);
  AddLongText(record, key::kReason, node.reason, kMaxCommentBytes);
  AddLongText(record, key::kPartitions, node.partitions, kMaxDependencyBytes);
  AddLongText(record, key::kFeatures, node.features, kMaxDependencyBytes);
}

bool IsOver(const ControllerJob& job) {
  const bool completing = std::find(job.flags.begin(), job.flags.end(), "COMPLETING") != job.flags.end();
  return job.state != "PENDING" && job.state != "RUNNING" && job.state != "SUSPENDED" && !completing;
}

}  // namespace

QueueWatch::QueueWatch(Controller& controller, Spool& spool, Clock clock, std::string cluster)
    : controller_(controller), spool_(spool), clock_(clock), cluster_(std::move(cluster)) {}

void QueueWatch::RecordWatch(const char* edge) {
  RecordBuilder record(kind::kWatch, last_look_);
  if (!cluster_.empty()) record.Text(key::kCluster, cluster_);
  record.Text(key::kEdge, edge);
  if (spool_.Write(record.Finish()) != Append::kWritten) return;
  looks_ = 0;
  watching_ = std::string_view(edge) != "end";
}

void QueueWatch::End() {
  if (watching_) RecordWatch("end");
  watching_ = false;
}

// A change that could not be written is recorded at the next look.
int QueueWatch::RecordGone(std::map<std::int64_t, KnownJob>& still_jobs,
                           std::map<std::string, std::string>& still_nodes) {
  int written = 0;
  for (auto& [id, job] : jobs_) {
    if (job.over || still_jobs.count(id) != 0) continue;
    RecordBuilder record(kind::kGone, last_look_);
    if (!cluster_.empty()) record.Text(key::kCluster, cluster_);
    record.Int(key::kJob, id);
    record.Text(key::kState, kGone);
    AddTime(record, key::kSubmitS, job.submit_s);
    if (spool_.Write(record.Finish()) == Append::kWritten) {
      ++written;
    } else {
      still_jobs.emplace(id, std::move(job));
    }
  }
  for (auto& [name, text] : nodes_) {
    if (still_nodes.count(name) != 0) continue;
    ControllerNode node;
    node.name = name;
    node.state = kGone;
    RecordBuilder record(kind::kNodeState, last_look_);
    AddNode(record, node, cluster_);
    if (spool_.Write(record.Finish()) == Append::kWritten) {
      ++written;
    } else {
      still_nodes.emplace(name, std::move(text));
    }
  }
  return written;
}

absl::StatusOr<int> QueueWatch::Poll() {
  // Taken before the query: the answer describes this time or slightly later.
  const Moment moment = ReadMoment(clock_);
  const Stamp now{moment.real_ns, moment.mono_ns, kControllerFolder, static_cast<int>(getpid())};
  const Stamp unstamped{0, 0, kControllerFolder, 0};
  absl::StatusOr<std::vector<ControllerJob>> jobs = controller_.Jobs();
  if (!jobs.ok()) {
    End();
    return jobs.status();
  }
  absl::StatusOr<std::vector<ControllerNode>> nodes = controller_.Nodes();
  if (!nodes.ok()) {
    End();
    return nodes.status();
  }
  last_look_ = now;

  int written = 0;
  const auto record_change = [&](std::string_view kind, const auto& value, auto add, std::string& last) {
    RecordBuilder plain(kind, unstamped);
    add(plain, value, cluster_);
    const std::string_view text = plain.Finish();
    if (text == last) return;
    RecordBuilder record(kind, now);
    add(record, value, cluster_);
    // A record that could not be written is tried again at the next look.
    if (spool_.Write(record.Finish()) != Append::kWritten) return;
    last = std::string(text);
    ++written;
  };
  std::map<std::int64_t, KnownJob> still_jobs;
  for (const ControllerJob& job : *jobs) {
    const auto before = jobs_.find(job.job_id);
    KnownJob known = before == jobs_.end() ? KnownJob{} : std::move(before->second);
    known.submit_s = job.submit_s;
    known.over = IsOver(job);
    record_change(job.state == "PENDING" ? kind::kQueue : kind::kAttempt, job, AddJob, known.text);
    still_jobs.insert_or_assign(job.job_id, std::move(known));
  }
  std::map<std::string, std::string> still_nodes;
  for (const ControllerNode& node : *nodes) {
    const auto before = nodes_.find(node.name);
    std::string last = before == nodes_.end() ? std::string() : std::move(before->second);
    record_change(kind::kNodeState, node, AddNode, last);
    still_nodes.insert_or_assign(node.name, std::move(last));
  }
  written += RecordGone(still_jobs, still_nodes);
  jobs_ = std::move(still_jobs);
  nodes_ = std::move(still_nodes);
  ++looks_;
  if (!watching_) {
    RecordWatch("begin");
  } else if (looks_ >= kLooksBetweenRecords) {
    RecordWatch("still");
  }
  return written;
}

}  // namespace goodput
