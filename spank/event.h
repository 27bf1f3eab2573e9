// The event vocabulary: every kind and key that may stand in a spool record, and the one way to write a
// record. Shared by all writers (the plugin, goodputd) and by the readers. The bytes are specified in
// SPOOL_FORMAT.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "spank/json_text.h"

namespace goodput {

inline constexpr int kFormatVersion = 1;
// Longest record, its two newlines included. One page: a write of it is one copy into the page cache.
inline constexpr std::size_t kMaxRecordBytes = 4096;
// In the name of a spool file where the boot id would be, of any number of boots, when the kernel's could not
// be read.
inline constexpr std::string_view kUnknownBoot = "unknown-boot";

// Files of records that were read out of a job's own output: "<boot id>.2026010203Z.log.jsonl".
inline constexpr std::string_view kLogLabel = "log";
inline constexpr std::string_view kLogFileEnding = ".log.jsonl";

namespace kind {
inline constexpr std::string_view kJobProlog = "job_prolog";
inline constexpr std::string_view kJobEpilog = "job_epilog";
inline constexpr std::string_view kStepStart = "step_start";
inline constexpr std::string_view kStepEnd = "step_end";
inline constexpr std::string_view kTaskStart = "task_start";
inline constexpr std::string_view kTaskExec = "task_exec";
// When the process that sends marks began: the task itself, or a worker that torchrun started in it.
inline constexpr std::string_view kProgramStart = "program_start";
inline constexpr std::string_view kTaskExit = "task_exit";
inline constexpr std::string_view kSignal = "signal";
inline constexpr std::string_view kMark = "mark";
inline constexpr std::string_view kCheckpoint = "checkpoint";
// A line of nccl-tests' table in the job's output.
inline constexpr std::string_view kCollective = "collective";
inline constexpr std::string_view kHost = "host";
inline constexpr std::string_view kPhase = "phase";
inline constexpr std::string_view kQueue = "queue";
inline constexpr std::string_view kAttempt = "attempt";
inline constexpr std::string_view kNodeState = "node_state";
inline constexpr std::string_view kGone = "gone";
inline constexpr std::string_view kWatch = "watch";
}  // namespace kind

namespace key {
// Of every record.
inline constexpr std::string_view kVersion = "v";
inline constexpr std::string_view kTime = "t";
inline constexpr std::string_view kMonotonic = "m";
inline constexpr std::string_view kNode = "node";
inline constexpr std::string_view kStepd = "stepd";
inline constexpr std::string_view kKind = "kind";
inline constexpr std::string_view kTrunc = "trunc";
// Of the work.
inline constexpr std::string_view kCluster = "cluster";
inline constexpr std::string_view kJob = "job";
inline constexpr std::string_view kUid = "uid";
inline constexpr std::string_view kGid = "gid";
inline constexpr std::string_view kSlurmStep = "slurm_step";
inline constexpr std::string_view kTask = "task";
inline constexpr std::string_view kArrayJob = "array_job";
inline constexpr std::string_view kArrayTask = "array_task";
inline constexpr std::string_view kHetJob = "het_job";
inline constexpr std::string_view kHetOffset = "het_offset";
inline constexpr std::string_view kRestart = "restart";
inline constexpr std::string_view kJobStart = "job_start";
inline constexpr std::string_view kSluid = "sluid";
// Of the plugin's kinds.
inline constexpr std::string_view kNnodes = "nnodes";
inline constexpr std::string_view kNtasks = "ntasks";
inline constexpr std::string_view kLocalTasks = "local_tasks";
inline constexpr std::string_view kGpus = "gpus";
inline constexpr std::string_view kLocalTask = "local_task";
inline constexpr std::string_view kPid = "pid";
inline constexpr std::string_view kExitCode = "exit_code";
inline constexpr std::string_view kSignal = "signal";
inline constexpr std::string_view kOpt = "opt";
// Of `opt`.
inline constexpr std::string_view kRun = "run";
inline constexpr std::string_view kCheckpointDir = "checkpoint_dir";
inline constexpr std::string_view kCheckpointSignal = "checkpoint_signal";
inline constexpr std::string_view kLogProfile = "log_profile";
inline constexpr std::string_view kFlopsPerStep = "flops_per_step";
inline constexpr std::string_view kModel = "model";
inline constexpr std::string_view kPrecision = "precision";
inline constexpr std::string_view kTags = "tags";
// Of marks.
inline constexpr std::string_view kMark = "mark";
inline constexpr std::string_view kEdge = "edge";
inline constexpr std::string_view kTrainStep = "train_step";
inline constexpr std::string_view kName = "name";
// Of signals. The signal's number is under kSignal, its target under kPid (of the process) and kTask.
inline constexpr std::string_view kTarget = "target";  // "task": the process Slurm started; "child": another
inline constexpr std::string_view kComm = "comm";      // of the target: the kernel's name of the program
inline constexpr std::string_view kSender = "sender";  // "slurmstepd", "self", "job", "outside", "kernel"
inline constexpr std::string_view kSenderPid = "sender_pid";
inline constexpr std::string_view kHandled = "handled";  // 1: caught or blocked, 0: neither
inline constexpr std::string_view kIgnored = "ignored";  // 1: the target ignores it, nothing was delivered
inline constexpr std::string_view kCount = "count";      // of equal signals that this record stands for
inline constexpr std::string_view kLastMonotonic = "last_m";  // the `m` of the last of them
// Of checkpoints seen on disk, with kEdge, kTrainStep and kName.
inline constexpr std::string_view kLayout = "layout";
inline constexpr std::string_view kEarlierNs = "earlier_ns";  // it may have begun so much earlier
// Of the directory they are in, in a record of its own: who sees it by the name that the job gave ("task",
// "container": one that a task or the script started, "script": the batch script, "node"), and why it cannot
// be looked into; empty: it can.
inline constexpr std::string_view kView = "view";
inline constexpr std::string_view kProblem = "problem";
// Of marks that were read out of the job's output: the profile that understood the line.
inline constexpr std::string_view kProfile = "profile";
// Of collectives: bytes, and bytes a second.
inline constexpr std::string_view kBytes = "bytes";
inline constexpr std::string_view kAlgbw = "algbw";
inline constexpr std::string_view kBusbw = "busbw";
// Of host notices.
inline constexpr std::string_view kNotice = "notice";  // "maintenance", "preempted", "upcoming_maintenance"
inline constexpr std::string_view kValue = "value";    // as the host said it
inline constexpr std::string_view kWindowS = "window_s";  // when it begins, seconds since the epoch
inline constexpr std::string_view kWindowEndS = "window_end_s";
// Of what the controller said.
inline constexpr std::string_view kState = "state";
inline constexpr std::string_view kFlags = "flags";
inline constexpr std::string_view kReason = "reason";
inline constexpr std::string_view kReasonS = "reason_s";
inline constexpr std::string_view kReasonBy = "reason_by";     // who gave it
inline constexpr std::string_view kPartitions = "partitions";  // a node is in, in order, with commas
inline constexpr std::string_view kFeatures = "features";      // a node has
inline constexpr std::string_view kTimeLimitS = "time_limit_s";
inline constexpr std::string_view kUser = "user";
inline constexpr std::string_view kAccount = "account";
inline constexpr std::string_view kPartition = "partition";
inline constexpr std::string_view kQos = "qos";
inline constexpr std::string_view kNodes = "nodes";
inline constexpr std::string_view kNodeName = "node_name";
inline constexpr std::string_view kGpuType = "gpu_type";
inline constexpr std::string_view kTres = "tres";
inline constexpr std::string_view kDependency = "dependency";
inline constexpr std::string_view kAdminComment = "admin_comment";
inline constexpr std::string_view kFailedNode = "failed_node";
inline constexpr std::string_view kReservation = "reservation";
inline constexpr std::string_view kExitSignal = "exit_signal";
inline constexpr std::string_view kSubmitS = "submit_s";
inline constexpr std::string_view kEligibleS = "eligible_s";
inline constexpr std::string_view kStartS = "start_s";
inline constexpr std::string_view kEndS = "end_s";
inline constexpr std::string_view kPreemptS = "preempt_s";
inline constexpr std::string_view kPreempt = "preempt";
inline constexpr std::string_view kPriorityTier = "priority_tier";
inline constexpr std::string_view kSuspendS = "suspend_s";
inline constexpr std::string_view kSuspendedS = "suspended_s";
}  // namespace key

// What every record begins with.
struct Stamp {
  int64_t real_ns = 0;    // CLOCK_REALTIME, since the epoch
  int64_t mono_ns = 0;    // CLOCK_MONOTONIC
  std::string_view node;  // NodeName; the folder the record is appended to
  int pid = 0;            // of the writer
};

// What a value is worth when a record is too long: kTags goes first, then every kFreeText, kIdentity never.
// An identity value is cut at kMaxIdentityBytes, so that identity always fits.
enum class Worth : uint8_t { kIdentity, kFreeText, kTags };
inline constexpr std::size_t kMaxIdentityBytes = 160;

// Makes one record. Works in a fixed buffer: never allocates, never throws. Use: construct, add members,
// Finish(). Members come out in the order they were added; a key must not be added twice to the same object.
class RecordBuilder {
 public:
  RecordBuilder(std::string_view kind, const Stamp& stamp) noexcept;
  RecordBuilder(const RecordBuilder&) = delete;
  RecordBuilder& operator=(const RecordBuilder&) = delete;

  void Int(std::string_view key, int64_t value) noexcept;
  void Uint(std::string_view key, uint64_t value) noexcept;
  // A value that is not finite is left out: JSON has no word for it.
  void Number(std::string_view key, double value) noexcept;
  void Text(std::string_view key, std::string_view value, Worth worth = Worth::kIdentity) noexcept;
  // An array of strings, e.g. job flags.
  template <typename Range>
  void Texts(std::string_view key, const Range& values, Worth worth = Worth::kIdentity) noexcept {
    OpenArray(key, worth);
    for (const auto& value : values) Element(value);
    CloseArray();
  }
  // Objects nest two deep. Everything inside an object opened with a worth below kIdentity goes with it.
  void OpenObject(std::string_view key, Worth worth = Worth::kIdentity) noexcept;
  void CloseObject() noexcept;

  // The record, from its leading newline to its trailing one, at most kMaxRecordBytes. Valid while the
  // builder lives; nothing may be added afterwards.
  std::string_view Finish() noexcept;

 private:
  struct Span {
    std::size_t begin = 0, end = 0;
    Worth worth = Worth::kIdentity;
  };
  // Room to gather what will be dropped. Droppable values stop at half of it, so that identity always finds
  // room.
  static constexpr std::size_t kScratchBytes = 4 * kMaxRecordBytes;
  static constexpr std::size_t kDroppableBytes = kScratchBytes / 2;
  static constexpr std::size_t kMaxSpans = 48;
  static constexpr std::size_t kMaxDepth = 3;

  void OpenArray(std::string_view key, Worth worth) noexcept;
  void Element(std::string_view value) noexcept;
  void CloseArray() noexcept;
  void Begin(std::string_view key, Worth worth) noexcept;
  void End(Worth worth) noexcept;
  void Push(Worth worth) noexcept;
  void Pop(char closing) noexcept;
  void Put(char c) noexcept;
  void Put(std::string_view text) noexcept;
  void PutQuoted(std::string_view value) noexcept;
  void Drop(Worth worth) noexcept;
  void Erase(std::size_t begin, std::size_t end) noexcept;

  std::array<char, kScratchBytes> bytes_;  // deliberately not zeroed: only [0, size_) means anything
  std::size_t size_ = 0;
  std::size_t limit_ = kScratchBytes;
  bool overflow_ = false;  // the member being written did not fit
  bool truncated_ = false;
  struct Open {
    std::size_t begin = 0;  // of the member this object or array is the value of
    Worth worth = Worth::kIdentity;
  };
  std::array<Open, kMaxDepth> open_{};
  std::size_t depth_ = 0;
  std::size_t skipped_depth_ = 0;  // opened beyond kMaxDepth or in a member that did not fit
  std::array<Span, kMaxSpans> spans_{};
  std::size_t span_count_ = 0;
};

}  // namespace goodput
