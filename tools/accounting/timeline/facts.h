// What is known about a training run, as plain values: the input of the timeline.
//
// Times are nanoseconds since the epoch. An unknown fact is absent, never 0. The code that fills these in
// (from the database, from a test) decides nothing: order does not matter, and duplicates and impossible
// values are allowed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/blocks/duration_histogram.h"
#include "tools/accounting/timeline/bucket.h"
#include "tools/accounting/timeline/gpu_use_series.h"
#include "tools/base/time.h"

namespace goodput {

// Where a fact was recorded: `source` indexes RunFacts::sources (-1: the scheduler's own records), `offset`
// is the record's byte offset in that file.
struct EvidenceRef {
  std::int32_t source = -1;
  std::int64_t offset = -1;
};

// Slurm's step ids as numbers: 0 and up are sruns.
inline constexpr std::int32_t kBatchStep = -5;
inline constexpr std::int32_t kExternStep = -4;
inline constexpr std::int32_t kInteractiveStep = -6;
inline constexpr std::int32_t kNoStep = -1;

// "training step N begins", from one task.
struct StepMark {
  Ns t = 0;
  std::int64_t train_step = 0;
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = 0;
  EvidenceRef ref;
};

// A phase: in a log, the time between the end of a step and the begin of the next.
inline constexpr std::string_view kBetweenSteps = "between_steps";

// The part of lost_work in which steps failed that the program tried again.
inline constexpr std::string_view kFailedStep = "failed_step";

// A phase with this prefix is a part of checkpoint_save, named by the rest: `checkpoint_save.finalize` is the
// time in which training waits for the end of an asynchronous save.
inline constexpr std::string_view kSavePart = "checkpoint_save.";

// Phases after which a program resumes: an elastic run restarts without replacing its processes.
inline constexpr std::string_view kElasticReinitPhase = "elastic_reinit";

// The name of a checkpoint's mark that says that training continues while the save runs in the background.
inline constexpr std::string_view kInBackground = "background";

// The name of a save's begin if the program reports its saves, but no steps: they are inferred from the
// saves.
inline constexpr std::string_view kStepsUntold = "steps_untold";

// The name of a kStepEnd after which steps may have been done that nobody recorded, because the program
// reports them with a delay of at most kReportDelay and was killed.
inline constexpr std::string_view kMayBeMore = "may_be_more";
inline constexpr Ns kReportDelay = 10 * kSecond;

// The name of a kStepEnd that is only for AttemptFacts::rank_ends.
inline constexpr std::string_view kOfRank = "of_rank";

// Many step marks of one task, each later than the previous one and `stride` steps further, summarized
// without the marks. Marks that repeat the step of the previous one may be among them.
struct StepBlock {
  StepMark first;
  StepMark last;
  std::int64_t stride = 1;
  // Durations of one step: the time from one mark to the next divided by the stride, for all but the last
  // mark.
  DurationHistogram durations;
  std::int64_t key = 0;  // for the reader
};

// Provides the marks of blocks.
class StepReader {
 public:
  virtual ~StepReader() = default;
  // In order; empty if they can no longer be read.
  virtual std::vector<StepMark> Read(const StepBlock& block) const = 0;
};

// Any other mark of a job.
struct Mark {
  // kStop: the program reports that it was told to stop. kStepEnd: it reports the end of a step; of one
  // start, only the last counts, since any other step ends where the next begins. kStepFailed: nothing of a
  // step is kept, and the program tries it again. kStart: the process that sends marks began.
  enum class Kind : std::uint8_t { kCheckpoint, kPhase, kRestore, kStop, kStepEnd, kStepFailed, kStart };
  Ns t = 0;
  Kind kind = Kind::kPhase;
  bool begin = true;
  std::optional<std::int64_t> train_step;
  std::string
      name;  // of a phase; for a checkpoint, kInBackground or empty; of a step's end, kMayBeMore or empty
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = 0;
  EvidenceRef ref;
};

// A save that a task began and finished; training waited for it.
struct SaveSpan {
  Ns begin = 0;
  Ns end = 0;
  std::int64_t train_step = 0;
  std::int64_t begin_offset = 0;  // of the two marks in their file
  std::int64_t end_offset = 0;
};

// The same as two marks for each save, in a fifth of the memory: there may be a save after every few steps.
struct SaveBlock {
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = 0;
  std::int32_t begin_source = -1;  // of RunFacts::sources
  std::int32_t end_source = -1;
  std::vector<SaveSpan> saves;  // not empty; each begins after the end of the one before

  EvidenceRef BeginRef(const SaveSpan& save) const { return {begin_source, save.begin_offset}; }
  EvidenceRef EndRef(const SaveSpan& save) const { return {end_source, save.end_offset}; }
};

// "From now on W GPUs step", from an elastic program.
struct WorldMark {
  Ns t = 0;
  std::int64_t stepping = 0;           // at least 1
  std::optional<std::int64_t> wanted;  // how many should step
  std::optional<std::int64_t> spares;  // how many more wait to replace one
  std::optional<std::int64_t> tokens;  // that one step trains, or samples
  EvidenceRef ref;
};

// What slurmstepd did on a node, as the plugin recorded it.
struct NodeEvent {
  // kTaskExec: the task, until then slurmstepd itself, executed the user's program.
  enum class Kind : std::uint8_t { kProlog, kStepStart, kTaskStart, kTaskExec, kTaskExit, kStepEnd, kEpilog };
  Ns t = 0;
  EvidenceRef ref;
  // The node's number; if several nodes act at once, the lowest comes first.
  std::int32_t node = kNoNode;
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = -1;
  std::optional<int> exit_code;
  std::optional<int> signal;
  Kind kind = Kind::kProlog;

  static constexpr std::int32_t kNoNode = -1;
};

// Signals of one number that one process of the job received, as the kernel generated them.
struct SignalFact {
  enum class Target : std::uint8_t {
    kTask,
    kChild
  };  // the process that Slurm started, or another of its job
  Ns t = 0;
  Ns last_t = 0;  // of the last of `count`
  int signo = 0;
  std::int64_t count = 1;
  std::string node;
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = -1;  // -1: unknown
  Target target = Target::kTask;
  std::int64_t pid = 0;         // 0: unknown
  std::string comm;             // the kernel's name of the target's program
  std::string sender;           // slurmstepd, self, job, outside, kernel; empty: unknown
  std::optional<bool> handled;  // caught or blocked; absent: the process was gone before this could be read
  bool ignored = false;
  EvidenceRef ref;
};

// A checkpoint that appeared in the job's directory (begin), or became complete by the rules of its layout.
struct CheckpointFile {
  Ns t = 0;
  bool begin = true;
  std::string name;
  std::string layout;
  std::optional<std::int64_t> train_step;  // the last step it holds
  EvidenceRef ref;
  Ns earlier = 0;  // it may have begun up to this much earlier
};

// The last measurement of one run of nccl-tests, for its largest message: bytes, and bytes per second.
struct CollectiveTest {
  Ns t = 0;
  std::int64_t bytes = 0;
  std::int64_t algbw = 0;
  std::int64_t busbw = 0;
  std::int32_t slurm_step = kNoStep;
  // That took part: as the program named them, or those of its step; empty: unknown.
  std::vector<std::string> nodes;
  EvidenceRef ref;
};

// What a program that made no progress was doing, as one node found it.
struct HangEvidence {
  enum class Source : std::uint8_t {
    kProc,    // a process of the program, from /proc
    kOutput,  // the last lines of its output
    kRas,     // what NCCL's RAS says
    kPySpy,   // where a Python program is
  };
  Ns t = 0;      // when it was looked at
  Ns since = 0;  // the last sign of progress
  Source source = Source::kProc;
  std::string node;
  std::optional<std::int64_t> task;
  std::int64_t pid = 0;             // 0: unknown
  std::string program;              // the kernel's name of it
  std::string state;                // a letter, as in /proc/PID/stat
  std::string wchan;                // the kernel's function in which it sleeps; empty: unknown
  std::int64_t threads = 0;         // 0: unknown
  std::optional<double> processor;  // share of one processor that it used meanwhile: 0 to its threads
  std::string text;                 // lines
  std::string problem;              // why there is no text
  EvidenceRef ref;
};

// A line of a node's kernel log that tells of faulty hardware, or several equal ones.
struct HardwareError {
  enum class Kind : std::uint8_t {
    kXid,     // NVIDIA's driver, about a GPU; `code` is the Xid
    kSxid,    // NVIDIA's driver, about an NVSwitch
    kLink,    // a network port lost its link
    kNic,     // a network card does not work
    kPcie,    // a fatal error of the bus
    kMemory,  // memory errors that were not corrected
    kCpu,     // machine checks that were not corrected
  };
  Ns t = 0;
  Ns last_t = 0;  // of the last of `count`
  Kind kind = Kind::kXid;
  std::string node;
  std::string device;                // empty: not named
  std::optional<std::int64_t> code;  // of kXid and kSxid
  std::string text;                  // what the driver says, not checked
  std::int64_t count = 1;
  EvidenceRef ref;
};

// A notice of the cloud about the machine below a node; valid until the next one of that kind.
struct HostNotice {
  enum class Kind : std::uint8_t { kMaintenance, kPreempted, kUpcomingMaintenance };
  Ns t = 0;
  Kind kind = Kind::kMaintenance;
  std::string value;  // as reported; NONE or FALSE: withdrawn
  std::string node;
  std::optional<Ns> window;  // of an announced maintenance
  std::optional<Ns> window_end;
  EvidenceRef ref;
};

// What the metadata server of a node's machine says about it: a part of it, or all. It does not change while
// the machine runs.
struct MachineFact {
  std::string node;
  std::string model;  // how it was obtained: kModel... in rollup/provision.h; empty: unknown
  std::string zone;   // "us-central1-a"; empty: unknown
};

// That the cloud did not provide the machine of a node (see runs/lack_of_machines.h).
struct MachineLack {
  // kStockout: there were none. kQuota: the project may have no more. kReservation: it has not begun, or is
  // over. kError: anything else that the cloud said.
  enum class Kind : std::uint8_t { kStockout, kQuota, kReservation, kError };
  Ns t = 0;
  Kind kind = Kind::kError;
  std::string node;    // empty: told by the job's admin comment
  std::string zone;    // that the text names; empty: none
  std::string reason;  // the text
};

// What steps used on nodes until they ended there (SPOOL_FORMAT.md, step_end): one of them, or all of an
// attempt, which may be a million.
struct HostUse {
  std::int64_t measured = 0;           // steps on nodes that are in it
  std::optional<std::int64_t> cpu_us;  // processor time
  bool waited_only = false;  // of one, only processes that were waited for: no control group told it
  std::optional<std::int64_t> memory_peak;  // bytes: the most of one step on one node
  std::optional<std::int64_t> largest_rss;  // bytes of the largest process
  std::optional<std::int64_t> read_bytes;
  std::optional<std::int64_t> written_bytes;
};

// The last moment at which a node is known to have had a living task of the attempt.
struct LastSeen {
  std::string node;
  Ns t = 0;
};

// The pending reason that the controller reported for a job, valid from `t` until the next one.
struct PendingReason {
  Ns t = 0;
  std::string reason;  // Slurm's: Resources, Priority, BeginTime, JobHeldUser ...
  EvidenceRef ref;
  bool within_run = false;  // it waits only for jobs of its own run
};

// A period in which the scheduler had suspended the job.
struct Suspension {
  Ns begin = 0;
  Ns end = 0;
  bool placed = true;  // false: the length is known, but not when it began
};

// A job that gave nodes back, or received more.
struct Resize {
  Ns t = 0;
  int gpus_before = 0;  // until then
};

// One allocation of one job, or one wait for it.
struct AttemptFacts {
  std::int64_t job_id = 0;
  // Id of the heterogeneous job (its first component) of which it is a component.
  std::optional<std::int64_t> het_job;
  // A task of a job array of which the run has other tasks. Slurm makes a task that the array's limit (%1)
  // keeps back eligible when another has ended.
  bool array_of_run = false;
  std::optional<int> restart;
  Ns submit = 0;
  std::optional<Ns> eligible;
  std::optional<Ns> start;      // absent while pending
  std::optional<Ns> allocated;  // before the start, if Slurm set the start again once the nodes had booted
  std::optional<Ns> end;        // absent while pending or running
  // Set if only an imported log knows the attempt: the log begins then, and the time before is unknown.
  std::optional<Ns> heard_until;
  std::string state;  // Slurm's: RUNNING, COMPLETED, REQUEUED, NODE_FAIL ...
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  std::string reason;              // why it last waited, from accounting
  std::optional<Ns> preempt_time;  // when the scheduler began to preempt it
  std::string preempted_by;        // the job that took its nodes and may preempt it, in words; empty: unknown
  std::string taken_by;  // the job that took its nodes at its end, if it is unknown whether it may preempt it
  // What decides who may preempt it (ControllerJob::preempt), and its partition's PriorityTier, if known.
  std::string preempt;
  std::optional<std::int64_t> priority_tier;
  std::string failed_node;    // named by the scheduler
  std::string down_nodes;     // its nodes that were seen going down at its end, with reasons, in words
  std::optional<Ns> noticed;  // when the scheduler set the last of them down; the reported end may be earlier
  std::string taken_node;     // node whose machine the cloud reclaimed, according to its reason
  std::string operator_acted;  // why an administrator is assumed to have requeued it, in words
  std::string cancelled_by;    // a user
  bool step_out_of_memory = false;
  std::string admin_comment;
  std::string reservation;  // Slurm's reservation
  std::string recovery;     // automatic recovery that the job asked for: "expedite", "ajr"; empty: none known
  bool expediting = false;  // the controller was seen deciding on an expedited requeue at its end
  bool requeued_when_over = false;  // it had ended by itself, and no job was submitted until the next attempt
  std::optional<Ns> time_limit;     // from its start
  std::string node_list;
  int nodes = 0;
  int gpus = 0;                               // at its end, if it was resized
  std::vector<Resize> resizes;                // in order
  Evidence evidence = Evidence::kAccounting;  // of the bounds
  std::vector<Suspension> suspended;
  std::vector<PendingReason> pending;
  std::vector<NodeEvent> node_events;
  std::vector<StepMark> step_marks;
  std::vector<StepBlock> step_blocks;  // more step marks
  std::vector<StepMark> step_ends;     // "training step N is done", if the program reports it for each
  // The same of several ranks and of some steps, only to compare ranks: of spans that were imported, or of
  // lines with the label of `srun --label` and times of their own.
  std::vector<StepMark> rank_ends;
  std::vector<Mark> marks;
  std::vector<SaveBlock> save_blocks;  // more marks
  std::vector<WorldMark> worlds;
  std::optional<std::int64_t> spares;  // of its GPUs, as declared at submission
  std::vector<SignalFact> signals;
  std::vector<int> checkpoint_signals;  // signals that, according to the job, ask for one; empty: not given
  std::vector<CheckpointFile> checkpoint_files;
  // Why the job's checkpoint directory could finally not be read; empty: it could, or the job named none. If
  // it could not, later saves are unknown.
  std::string checkpoints_unseen;
  std::int64_t refused_records = 0;  // that nodes refused to store: the job reported too much
  std::vector<LastSeen> last_seen;   // for nodes that did not see the attempt end
  std::vector<HostNotice> host_notices;
  std::vector<MachineFact> machines;        // those that are known
  std::vector<MachineLack> lacks;           // machines that were refused for this allocation
  std::vector<CollectiveTest> collectives;  // by time
  std::vector<HangEvidence> hang_evidence;
  std::vector<HardwareError> hardware_errors;
  std::vector<std::string> kernel_log_nodes;  // whose kernel log was read; of others, errors are unknown
  GpuUseSeries gpu_use;
  HostUse host_use;
  std::int64_t steps_on_nodes = 0;     // that began on a node, not the extern ones
  std::optional<std::int64_t> cpus;    // that it was given
  std::optional<double> memory_bytes;  // likewise, of all nodes
};

// A file of records.
struct EvidenceSource {
  EvidenceSource(std::string name_, Evidence evidence_ = Evidence::kMark)  // NOLINT: a name is a source
      : name(std::move(name_)), evidence(evidence_) {}
  EvidenceSource(const char* name_) : name(name_) {}  // NOLINT

  std::string name;                     // "node/file"; empty: looked up when needed
  Evidence evidence = Evidence::kMark;  // evidence for what it says about the program
  bool imported = false;                // imported by a user
  std::int64_t id = 0;                  // for the reader, if there is no name

  // The times of its steps are those at which a rank began them, not those of reading about it.
  bool tells_ranks() const {
    const bool spans = name.size() >= kOfSpans.size() &&
                       name.compare(name.size() - kOfSpans.size(), kOfSpans.size(), kOfSpans) == 0;
    return evidence == Evidence::kMark || (imported && spans);
  }
  static constexpr std::string_view kOfSpans = "#otel";  // how the name of imported spans ends
};

// Provides the names of files: a large job has a million, of which a report names a few.
class SourceReader {
 public:
  virtual ~SourceReader() = default;
  // "node/file"; empty if it can no longer be found.
  virtual std::string Name(std::int64_t id) const = 0;
};

struct RunFacts {
  Ns now = 0;
  std::vector<EvidenceSource> sources;
  std::shared_ptr<const StepReader> step_reader;      // for the attempts' blocks
  std::shared_ptr<const SourceReader> source_reader;  // for sources without a name
  std::vector<AttemptFacts> attempts;
  bool clocks_differed = false;       // the clock of a node was set, or differed: its times are estimated
  std::vector<std::string> warnings;  // from the code that assembled the facts

  // The evidence for what a record says about the program.
  Evidence EvidenceOf(const EvidenceRef& ref) const {
    const auto source = static_cast<std::size_t>(ref.source);
    return ref.source >= 0 && source < sources.size() ? sources[source].evidence : Evidence::kMark;
  }
  // The name of one of `sources`.
  std::string SourceName(std::size_t source) const {
    const EvidenceSource& named = sources[source];
    return named.name.empty() && source_reader ? source_reader->Name(named.id) : named.name;
  }
};

}  // namespace goodput
