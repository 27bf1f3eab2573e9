// The event vocabulary: every kind and key of a spool record, and the only way to write a record. Shared by
// the writers (the plugin, goodputd) and the readers. SPOOL_FORMAT.md specifies the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "spank/json_text.h"

namespace goodput {

inline constexpr int kFormatVersion = 1;
// Longest record, including its two newlines. One page: writing it is one copy into the page cache.
inline constexpr std::size_t kMaxRecordBytes = 4096;
// Step numbers are within [0, kMaxTrainStep], the integers that every JSON reader represents exactly.
inline constexpr std::int64_t kMaxTrainStep = std::int64_t{1} << 53;
// In a spool file's name, in place of the boot id if the kernel's could not be read; such a file may hold
// several boots.
inline constexpr std::string_view kUnknownBoot = "unknown-boot";

// Files of records that were read from a job's own output: "<boot id>.2026010203Z.log.jsonl".
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
// A line of the nccl-tests table in the job's output.
inline constexpr std::string_view kCollective = "collective";
inline constexpr std::string_view kRefused = "refused";
// Records that found no room in the spool, whatever they were about. It names no job.
inline constexpr std::string_view kLost = "lost";
inline constexpr std::string_view kHost = "host";
// What a program that makes no progress was doing.
inline constexpr std::string_view kHangEvidence = "hang_evidence";
// What the job's GPUs on this node did, from dcgm-exporter.
inline constexpr std::string_view kGpuUse = "gpu_use";
// A line of the kernel's log that tells of faulty hardware.
inline constexpr std::string_view kHardware = "hardware";
inline constexpr std::string_view kPhase = "phase";
inline constexpr std::string_view kQueue = "queue";
inline constexpr std::string_view kAttempt = "attempt";
inline constexpr std::string_view kNodeState = "node_state";
inline constexpr std::string_view kGone = "gone";
inline constexpr std::string_view kWatch = "watch";
}  // namespace kind

namespace key {
// Keys of every record.
inline constexpr std::string_view kVersion = "v";
inline constexpr std::string_view kTime = "t";
inline constexpr std::string_view kMonotonic = "m";
inline constexpr std::string_view kNode = "node";
inline constexpr std::string_view kStepd = "stepd";
inline constexpr std::string_view kKind = "kind";
inline constexpr std::string_view kTrunc = "trunc";
// Keys that identify the work.
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
// Keys of the plugin's kinds.
inline constexpr std::string_view kNnodes = "nnodes";
inline constexpr std::string_view kNtasks = "ntasks";
inline constexpr std::string_view kLocalTasks = "local_tasks";
inline constexpr std::string_view kGpus = "gpus";
inline constexpr std::string_view kGpuIds = "gpu_ids";  // Slurm's numbers of them on this node: "0-3,6"
inline constexpr std::string_view kLocalTask = "local_task";
inline constexpr std::string_view kPid = "pid";
inline constexpr std::string_view kExitCode = "exit_code";
inline constexpr std::string_view kSignal = "signal";
inline constexpr std::string_view kOpt = "opt";
// Keys of `opt`.
inline constexpr std::string_view kRun = "run";
inline constexpr std::string_view kCheckpointDir = "checkpoint_dir";
inline constexpr std::string_view kCheckpointSignal = "checkpoint_signal";
inline constexpr std::string_view kLogProfile = "log_profile";
inline constexpr std::string_view kFlopsPerStep = "flops_per_step";
inline constexpr std::string_view kModel = "model";
inline constexpr std::string_view kPrecision = "precision";
inline constexpr std::string_view kTags = "tags";
inline constexpr std::string_view kHangEvidence = "hang_evidence";
// Keys of marks.
inline constexpr std::string_view kMark = "mark";
inline constexpr std::string_view kEdge = "edge";
inline constexpr std::string_view kTrainStep = "train_step";
inline constexpr std::string_view kName = "name";
// Keys of marks of the world, in GPUs.
inline constexpr std::string_view kWorld = "world";    // that step
inline constexpr std::string_view kWanted = "wanted";  // that should step
inline constexpr std::string_view kSpares = "spares";  // beyond these
inline constexpr std::string_view kTokens = "tokens";  // (or samples) of one step
// Keys of signals. kSignal is the signal's number, kPid the target process, kTask the target's task.
// "task": the process that Slurm started; "child": another.
inline constexpr std::string_view kTarget = "target";
inline constexpr std::string_view kComm = "comm";      // the kernel's name of the target's program
inline constexpr std::string_view kSender = "sender";  // "slurmstepd", "self", "job", "outside", "kernel"
inline constexpr std::string_view kSenderPid = "sender_pid";
inline constexpr std::string_view kHandled = "handled";  // 1: caught or blocked, 0: neither
inline constexpr std::string_view kIgnored = "ignored";  // 1: the target ignores it, so it was not delivered
inline constexpr std::string_view kCount = "count";  // number of equal signals that this record stands for
inline constexpr std::string_view kLastMonotonic = "last_m";  // the `m` of the last of them
// Keys of lost records, with kCount: the first was lost after this time.
inline constexpr std::string_view kSinceNs = "since_ns";
// Keys of checkpoints seen on disk, with kEdge, kTrainStep and kName.
inline constexpr std::string_view kLayout = "layout";
inline constexpr std::string_view kEarlierNs = "earlier_ns";  // it may have begun up to this much earlier
// Keys of a record about the checkpoint directory itself: which view has it under the name that the job gave
// ("task", "container": one that a task or the script started, "script": the batch script, "node"), and why
// it cannot be read (empty: it can).
inline constexpr std::string_view kView = "view";
inline constexpr std::string_view kProblem = "problem";
// Key of marks that were read from the job's output: the profile that matched the line.
inline constexpr std::string_view kProfile = "profile";
// Keys of collectives: bytes, bytes per second, and the hosts that the program named (kEdge "begin": just
// before this result).
inline constexpr std::string_view kBytes = "bytes";
inline constexpr std::string_view kAlgbw = "algbw";
inline constexpr std::string_view kBusbw = "busbw";
inline constexpr std::string_view kHosts = "hosts";
// Keys of host notices.
inline constexpr std::string_view kNotice = "notice";  // "maintenance", "preempted", "upcoming_maintenance"
inline constexpr std::string_view kValue = "value";    // as the host reported it
inline constexpr std::string_view kWindowS = "window_s";  // when it begins, seconds since the epoch
inline constexpr std::string_view kWindowEndS = "window_end_s";
// Keys of hang evidence. kSinceNs is the time of the last sign of progress, kComm the program, kState its
// state as in /proc/PID/stat, kProblem why there is no text.
inline constexpr std::string_view kSource = "source";    // "proc", "output", "ras"
inline constexpr std::string_view kText = "text";        // lines
inline constexpr std::string_view kWchan = "wchan";      // the kernel's function in which it sleeps
inline constexpr std::string_view kThreads = "threads";  // number
inline constexpr std::string_view kCpuMs = "cpu_ms";     // processor time during the look
inline constexpr std::string_view kLookMs = "look_ms";   // how long it was looked at
// Keys of faulty hardware, with kText, kCount and kLastMonotonic.
inline constexpr std::string_view kClass = "class";  // "xid", "sxid", "link", "nic", "pcie", "memory", "cpu"
inline constexpr std::string_view kDevice = "device";  // PCI address, interface or processor
inline constexpr std::string_view kCode = "code";      // NVIDIA's, of xid and sxid
inline constexpr std::string_view kSeq = "seq";        // of the kernel's line, since the boot
// Keys of what a step used on a node: by its control group, and of the processes that slurmstepd waited for.
inline constexpr std::string_view kCpuUs = "cpu_us";
inline constexpr std::string_view kMemPeak = "mem_peak";  // bytes, like the next two
inline constexpr std::string_view kReadBytes = "read_bytes";
inline constexpr std::string_view kWrittenBytes = "written_bytes";
inline constexpr std::string_view kWaitedCpuUs = "waited_cpu_us";
inline constexpr std::string_view kWaitedRss = "waited_rss";  // bytes, of the largest process
// Keys of the use of GPUs, with kGpus: arrays with an element for each of consecutive times, the last of
// which ends at the record's time.
inline constexpr std::string_view kMs = "ms";          // how long it was
inline constexpr std::string_view kBusy = "busy";      // mean over the GPUs, in ten-thousandths
inline constexpr std::string_view kUtil = "util";      // instead of kBusy: what the driver says at its end
inline constexpr std::string_view kTensor = "tensor";  // like kBusy, of the tensor cores
inline constexpr std::string_view kMj = "mj";          // energy, millijoules
// Not arrays: the most memory that one GPU used in all of them, and what it has.
inline constexpr std::string_view kMemMib = "mem_mib";
inline constexpr std::string_view kMemOfMib = "mem_of_mib";
// Keys of what the controller reports.
inline constexpr std::string_view kState = "state";
inline constexpr std::string_view kFlags = "flags";
inline constexpr std::string_view kReason = "reason";
inline constexpr std::string_view kReasonS = "reason_s";
inline constexpr std::string_view kReasonBy = "reason_by";     // who set the reason
inline constexpr std::string_view kPartitions = "partitions";  // of a node, in order, separated by commas
inline constexpr std::string_view kFeatures = "features";      // of a node
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
inline constexpr std::string_view kRecovery = "recovery";  // that the job asked for: "expedite", "ajr"
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

// The members with which every record begins.
struct Stamp {
  int64_t real_ns = 0;    // CLOCK_REALTIME, since the epoch
  int64_t mono_ns = 0;    // CLOCK_MONOTONIC
  std::string_view node;  // NodeName; the folder the record is appended to
  int pid = 0;            // process id of the writer
};

// Priority of a value when a record is too long: kTags values are dropped first, then kFreeText values;
// kIdentity values never are. An identity value is cut at kMaxIdentityBytes so that all of them always fit.
enum class Worth : uint8_t { kIdentity, kFreeText, kTags };
inline constexpr std::size_t kMaxIdentityBytes = 160;

// Builds one record in a fixed buffer: never allocates, never throws. Construct it, add members, call
// Finish(). Members keep the order in which they were added; a key must not be added twice to the same
// object.
class RecordBuilder {
 public:
  RecordBuilder(std::string_view kind, const Stamp& stamp) noexcept;
  RecordBuilder(const RecordBuilder&) = delete;
  RecordBuilder& operator=(const RecordBuilder&) = delete;

  void Int(std::string_view key, int64_t value) noexcept;
  void Uint(std::string_view key, uint64_t value) noexcept;
  // A value that is not finite is omitted, since JSON cannot express it.
  void Number(std::string_view key, double value) noexcept;
  void Text(std::string_view key, std::string_view value, Worth worth = Worth::kIdentity) noexcept;
  // An array of `count` numbers.
  void Ints(std::string_view key, const int64_t* values, std::size_t count) noexcept;
  // An array of strings, e.g. job flags.
  template <typename Range>
  void Texts(std::string_view key, const Range& values, Worth worth = Worth::kIdentity) noexcept {
    OpenArray(key, worth);
    for (const auto& value : values) Element(value);
    CloseArray();
  }
  // Objects nest at most two deep. If an object's worth is below kIdentity, everything inside is dropped with
  // it.
  void OpenObject(std::string_view key, Worth worth = Worth::kIdentity) noexcept;
  void CloseObject() noexcept;

  // The record from its leading to its trailing newline, at most kMaxRecordBytes. Valid while the builder
  // lives; nothing may be added afterwards.
  std::string_view Finish() noexcept;

 private:
  struct Span {
    std::size_t begin = 0, end = 0;
    Worth worth = Worth::kIdentity;
  };
  // Larger than a record, so that values can be gathered that will be dropped. Droppable values may fill at
  // most half of it, so that identity values always fit.
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
    std::size_t begin = 0;  // where the member begins whose value this object or array is
    Worth worth = Worth::kIdentity;
  };
  std::array<Open, kMaxDepth> open_{};
  std::size_t depth_ = 0;
  std::size_t skipped_depth_ = 0;  // opened beyond kMaxDepth or in a member that did not fit
  std::array<Span, kMaxSpans> spans_{};
  std::size_t span_count_ = 0;
};

}  // namespace goodput
