// What is known about a training run, as plain values: the input of the timeline.
//
// Times are nanoseconds since the epoch. A fact that is not known is absent, never 0. Whoever fills these in
// (from the database, from a test) decides nothing: order does not matter, duplicates and impossible values
// are allowed.
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
#include "tools/base/time.h"

namespace goodput {

// Where a fact was written: `source` indexes RunFacts::sources (-1: the scheduler's own records), `offset` is
// the byte of the record in that file.
struct EvidenceRef {
  std::int32_t source = -1;
  std::int64_t offset = -1;
};

// Slurm's step ids as numbers: 0 and up are sruns.
inline constexpr std::int32_t kBatchStep = -5;
inline constexpr std::int32_t kExternStep = -4;
inline constexpr std::int32_t kInteractiveStep = -6;
inline constexpr std::int32_t kNoStep = -1;

// "training step N begins", said by one task.
struct StepMark {
  Ns t = 0;
  std::int64_t train_step = 0;
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = 0;
  EvidenceRef ref;
};

// A phase: the time a log leaves between the end of a step and the begin of the next.
inline constexpr std::string_view kBetweenSteps = "between_steps";

// Phases of which a program resumes: in an elastic run it starts anew without leaving its processes.
inline constexpr std::string_view kElasticReinitPhase = "elastic_reinit";

// The name of a checkpoint's mark that says the loop trains on while the save continues in the background.
inline constexpr std::string_view kInBackground = "background";

// Many step marks of one task, each later than the one before and `stride` steps further: what is known of
// them without having them. Marks that repeat the step of the one before may be among them.
struct StepBlock {
  StepMark first;
  StepMark last;
  std::int64_t stride = 1;
  // Of a step each, the time from one mark to the next over the stride; of all but the last mark.
  DurationHistogram durations;
  std::int64_t key = 0;  // for the reader
};

// Has the marks of blocks.
class StepReader {
 public:
  virtual ~StepReader() = default;
  // In order; empty when they cannot be had any more.
  virtual std::vector<StepMark> Read(const StepBlock& block) const = 0;
};

// Everything else a job says about itself.
struct Mark {
  // kStop: the program says that it was told to stop. kStepEnd: it says that the step is done; of those of a
  // start only the last counts, for the others end where the next begins. kStart: the process that marks
  // began.
  enum class Kind : std::uint8_t { kCheckpoint, kPhase, kRestore, kStop, kStepEnd, kStart };
  Ns t = 0;
  Kind kind = Kind::kPhase;
  bool begin = true;
  std::optional<std::int64_t> train_step;
  std::string name;  // of a phase; of a checkpoint, kInBackground or empty
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = 0;
  EvidenceRef ref;
};

// What Slurm's step daemons did on a node, as the plugin saw it.
struct NodeEvent {
  // kTaskExec: the task, until then slurmstepd itself, executed the user's program.
  enum class Kind : std::uint8_t { kProlog, kStepStart, kTaskStart, kTaskExec, kTaskExit, kStepEnd, kEpilog };
  Ns t = 0;
  EvidenceRef ref;
  // A number, the same of the same node; of nodes that do the same at once the lowest comes first.
  std::int32_t node = kNoNode;
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = -1;
  std::optional<int> exit_code;
  std::optional<int> signal;
  Kind kind = Kind::kProlog;

  static constexpr std::int32_t kNoNode = -1;
};

// Signals of one number that one process of the job was sent, as the kernel generated them.
struct SignalFact {
  enum class Target : std::uint8_t { kTask, kChild };  // the process Slurm started, or another of its job's
  Ns t = 0;
  Ns last_t = 0;  // of the last of `count`
  int signo = 0;
  std::int64_t count = 1;
  std::string node;
  std::int32_t slurm_step = kNoStep;
  std::int32_t task = -1;  // -1: of no task that is known
  Target target = Target::kTask;
  std::int64_t pid = 0;         // 0: not known
  std::string comm;             // the target's program, as the kernel names it
  std::string sender;           // slurmstepd, self, job, outside, kernel; empty: not known
  std::optional<bool> handled;  // caught or blocked; absent: it was gone before that could be read
  bool ignored = false;
  EvidenceRef ref;
};

// A checkpoint appeared in the job's directory (begin), or became complete by the rules of its layout.
struct CheckpointFile {
  Ns t = 0;
  bool begin = true;
  std::string name;
  std::string layout;
  std::optional<std::int64_t> train_step;  // the last step it holds
  EvidenceRef ref;
  Ns earlier = 0;  // it may have begun so much earlier
};

// What nccl-tests measured last in one run of it, with the largest message of that: bytes, and bytes a
// second.
struct CollectiveTest {
  Ns t = 0;
  std::int64_t bytes = 0;
  std::int64_t algbw = 0;
  std::int64_t busbw = 0;
  std::int32_t slurm_step = kNoStep;
  std::vector<std::string> nodes;  // that took part; empty: not known
  EvidenceRef ref;
};

// What the cloud told the machine below a node of its own future; true until its next word of that kind.
struct HostNotice {
  enum class Kind : std::uint8_t { kMaintenance, kPreempted, kUpcomingMaintenance };
  Ns t = 0;
  Kind kind = Kind::kMaintenance;
  std::string value;  // as it was said; NONE or FALSE: it was taken back
  std::string node;
  std::optional<Ns> window;  // of an announced maintenance
  std::optional<Ns> window_end;
  EvidenceRef ref;
};

// The last moment at which a node is known to have had a living task of the attempt.
struct LastSeen {
  std::string node;
  Ns t = 0;
};

// The controller's word about a pending job, true from `t` until the next one.
struct PendingReason {
  Ns t = 0;
  std::string reason;  // Slurm's: Resources, Priority, BeginTime, JobHeldUser ...
  EvidenceRef ref;
  bool within_run = false;  // it waits for jobs of its own run only
};

// A stretch in which the scheduler had the job suspended.
struct Suspension {
  Ns begin = 0;
  Ns end = 0;
  bool placed = true;  // false: for how long is known, not when
};

// A job that gave nodes back, or was given more.
struct Resize {
  Ns t = 0;
  int gpus_before = 0;  // until then
};

// One allocation of one job, or one wait for it.
struct AttemptFacts {
  std::int64_t job_id = 0;
  std::optional<std::int64_t>
      het_job;  // the heterogeneous job it is a component of: its first component's id
  std::optional<int> restart;
  Ns submit = 0;
  std::optional<Ns> eligible;
  std::optional<Ns> start;      // absent while pending
  std::optional<Ns> allocated;  // before the start, where Slurm set that anew once the nodes had booted
  std::optional<Ns> end;        // absent while pending or running
  // Only an imported log tells of the attempt, and no longer than until then: what was before it is unknown.
  std::optional<Ns> heard_until;
  std::string state;  // Slurm's: RUNNING, COMPLETED, REQUEUED, NODE_FAIL ...
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  std::string reason;              // why it last waited, as accounting has it
  std::optional<Ns> preempt_time;  // when the scheduler began to preempt it
  std::string preempted_by;        // what took its nodes and may preempt it, in words, where known
  std::string taken_by;            // what took its nodes at its end, where nobody knows if it may preempt it
  // What decides who may preempt it (ControllerJob::preempt), and its partition's PriorityTier; where known.
  std::string preempt;
  std::optional<std::int64_t> priority_tier;
  std::string failed_node;     // named by the scheduler
  std::string down_nodes;      // nodes of it seen going down at its end, with reasons, in words
  std::optional<Ns> noticed;   // when the scheduler set the last of them down: its end may be told as earlier
  std::string taken_node;      // whose machine the cloud took back, by the reason it went down for
  std::string operator_acted;  // what shows that an operator had it requeued, in words
  std::string cancelled_by;    // a user
  bool step_out_of_memory = false;
  std::string admin_comment;
  std::string reservation;       // Slurm's
  std::optional<Ns> time_limit;  // from its start
  std::string node_list;
  int nodes = 0;
  int gpus = 0;                               // at its end, if it was resized
  std::vector<Resize> resizes;                // in order
  Evidence evidence = Evidence::kAccounting;  // of the bounds
  std::vector<Suspension> suspended;
  std::vector<PendingReason> pending;
  std::vector<NodeEvent> node_events;
  std::vector<StepMark> step_marks;
  std::vector<StepBlock> step_blocks;  // more of the same
  std::vector<StepMark> step_ends;     // "training step N is done", where the program says so of each
  std::vector<Mark> marks;
  std::vector<SignalFact> signals;
  std::vector<int> checkpoint_signals;  // that the job says ask it for one; empty: it does not say
  std::vector<CheckpointFile> checkpoint_files;
  // Why the checkpoint directory that the job named could not be looked into at last; empty: it could, or it
  // named none. Then nobody knows what was saved since.
  std::string checkpoints_unseen;
  std::vector<LastSeen> last_seen;  // of nodes that did not see the attempt end
  std::vector<HostNotice> host_notices;
  std::vector<CollectiveTest> collectives;  // by time
};

// A file of records.
struct EvidenceSource {
  EvidenceSource(std::string name_, Evidence evidence_ = Evidence::kMark)  // NOLINT: a name is a source
      : name(std::move(name_)), evidence(evidence_) {}
  EvidenceSource(const char* name_) : name(name_) {}  // NOLINT

  std::string name;                     // "node/file"; empty where that is found out when it is asked for
  Evidence evidence = Evidence::kMark;  // how what it says of the program is known
  bool imported = false;                // somebody gave us the file
  std::int64_t id = 0;                  // for the reader; of one without a name
};

// Has the names of files, of which a large job has a million and a report names a few.
class SourceReader {
 public:
  virtual ~SourceReader() = default;
  // "node/file"; empty when it cannot be had any more.
  virtual std::string Name(std::int64_t id) const = 0;
};

struct RunFacts {
  Ns now = 0;
  std::vector<EvidenceSource> sources;
  std::shared_ptr<const StepReader> step_reader;      // of the attempts' blocks
  std::shared_ptr<const SourceReader> source_reader;  // of sources without a name
  std::vector<AttemptFacts> attempts;
  std::vector<std::string> warnings;  // of whoever put the facts together

  // Of one of `sources`.
  std::string SourceName(std::size_t source) const {
    const EvidenceSource& named = sources[source];
    return named.name.empty() && source_reader ? source_reader->Name(named.id) : named.name;
  }
};

}  // namespace goodput
