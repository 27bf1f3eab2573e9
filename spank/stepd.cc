// The hooks of slurmstepd, as root: start and end of a step on this node, and of its tasks. Nothing runs in
// the forked child or as the user.
#include <sys/wait.h>

#include <array>
#include <charconv>
#include <cstdio>

#include "spank/event.h"
#include "spank/hooks.h"
#include "spank/step_use.h"

namespace goodput {
namespace {

// From slurm.h: SLURM_BATCH_SCRIPT and its neighbours, unchanged since 20.11.
constexpr uint32_t kMaxNormalStep = 0xfffffff0;
constexpr uint32_t kInteractiveStep = 0xfffffffa;
constexpr uint32_t kBatchStep = 0xfffffffb;
constexpr uint32_t kExternStep = 0xfffffffc;
constexpr uint32_t kNoValue = 0xfffffffe;

std::optional<uint32_t> Item(spank_t spank, spank_item_t item) {
  uint32_t value = 0;
  if (spank_get_item(spank, item, &value) != ESPANK_SUCCESS || value >= kMaxNormalStep) return std::nullopt;
  return value;
}

// SPANK returns uid_t, pid_t and int through pointers of their own types.
template <typename T>
std::optional<T> ItemAs(spank_t spank, spank_item_t item) {
  T value{};
  if (spank_get_item(spank, item, &value) != ESPANK_SUCCESS) return std::nullopt;
  return value;
}

uint32_t StepId(spank_t spank) {
  return ItemAs<uint32_t>(spank, S_JOB_STEPID).value_or(kNoValue);
}

void AddStep(spank_t spank, const Plugin& plugin, RecordBuilder* record) {
  const JobState& note = plugin.note;
  if (note.cluster[0] != '\0') record->Text(key::kCluster, note.cluster.data());
  if (const auto job = Item(spank, S_JOB_ID)) record->Uint(key::kJob, *job);
  if (const auto uid = ItemAs<uid_t>(spank, S_JOB_UID)) record->Uint(key::kUid, *uid);
  if (const auto gid = ItemAs<gid_t>(spank, S_JOB_GID)) record->Uint(key::kGid, *gid);
  const uint32_t step = StepId(spank);
  if (step == kBatchStep) {
    record->Text(key::kSlurmStep, "batch");
  } else if (step == kExternStep) {
    record->Text(key::kSlurmStep, "extern");
  } else if (step == kInteractiveStep) {
    record->Text(key::kSlurmStep, "interactive");
  } else if (step < kMaxNormalStep) {
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), step).ptr;
    record->Text(key::kSlurmStep, {digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  const auto array_job = Item(spank, S_JOB_ARRAY_ID);
  const auto array_task = Item(spank, S_JOB_ARRAY_TASK_ID);
  if (array_job && *array_job != 0 && array_task) {
    record->Uint(key::kArrayJob, *array_job);
    record->Uint(key::kArrayTask, *array_task);
  }
  if (note.het_job) record->Int(key::kHetJob, *note.het_job);
  if (note.restart) record->Int(key::kRestart, *note.restart);
  if (note.job_start_s) record->Int(key::kJobStart, *note.job_start_s);
  if (note.sluid[0] != '\0') record->Text(key::kSluid, note.sluid.data());
}

void AddTask(spank_t spank, RecordBuilder* record) {
  if (const auto task = Item(spank, S_TASK_GLOBAL_ID)) record->Uint(key::kTask, *task);
  if (const auto local = ItemAs<int>(spank, S_TASK_ID)) record->Int(key::kLocalTask, *local);
  if (const auto pid = ItemAs<pid_t>(spank, S_TASK_PID)) record->Int(key::kPid, *pid);
}

JobOptions StepTwins(spank_t spank) {
  std::array<char, 4096> value;
  return ReadTwins([&](const char* name) -> const char* {
    const auto rc = spank_getenv(spank, name, value.data(), static_cast<int>(value.size()));
    return rc == ESPANK_SUCCESS ? value.data() : nullptr;
  });
}

}  // namespace

// Opens the folder before the mount namespace can change; later hooks use its descriptor.
void StepInit(Plugin* plugin) {
  plugin->switched_off = !OpenNodeSpool(plugin);
}

void StepPostOpt(spank_t spank, Plugin* plugin) {
  if (plugin->switched_off) return;
  const auto job = Item(spank, S_JOB_ID);
  if (!job) return;
  const std::optional<JobState> kept = ReadJobState(plugin->spool, *job);
  plugin->note = kept ? *kept : StateOfUnknownJob(plugin->spool);
  const JobOptions said = Merge(plugin->given, StepTwins(spank));
  const bool site_says = plugin->site.enabled;
  const bool job_says = kept ? kept->enabled : site_says;
  // A job that is off stays off; otherwise a step may decide for itself, and the batch step for the whole
  // job.
  plugin->recording = (!kept || kept->enabled) && said.enabled.value_or(job_says);
  if (StepId(spank) == kBatchStep && plugin->recording != job_says) {
    plugin->note.enabled = plugin->recording;
    WriteJobState(plugin->spool, *job, plugin->note);
  }
  // Options of sbatch do not reach the job's own sruns, which may be the first to run on other nodes; the
  // environment variable does.
  if (plugin->recording != site_says) spank_setenv(spank, "GOODPUT", plugin->recording ? "on" : "off", 0);
  if (!plugin->recording) return;
  spank_setenv(spank, "GOODPUT_SOCKET", plugin->site.socket.c_str(), 0);
  if (!plugin->site.socket_path.empty())
    spank_setenv(spank, "GOODPUT_SOCKET_PATH", plugin->site.socket_path.c_str(), 0);
  if (!plugin->spool.is_open()) return;

  RecordBuilder record(kind::kStepStart, NodeStamp());
  AddStep(spank, *plugin, &record);
  const auto add_count = [&](std::string_view name, spank_item_t item) {
    const auto count = Item(spank, item);
    if (count && *count != 0) record.Uint(name, *count);
  };
  add_count(key::kNnodes, S_JOB_NNODES);  // 0 in a batch step, which is wrong
  if (StepId(spank) != kExternStep) {     // which has no task, although Slurm counts one per node
    add_count(key::kNtasks, S_JOB_TOTAL_TASK_COUNT);
    add_count(key::kLocalTasks, S_JOB_LOCAL_TASK_COUNT);
  }
  if (plugin->note.gpus) record.Int(key::kGpus, *plugin->note.gpus);
  if (plugin->note.gpu_ids[0] != '\0') record.Text(key::kGpuIds, plugin->note.gpu_ids.data());
  AddOptions(Merge(said, plugin->site.defaults), &record);
  plugin->spool.Write(record.Finish());
}

void TaskPostFork(spank_t spank, Plugin* plugin) {
  // Called once for the extern step, which has no task.
  if (!plugin->recording || !ItemAs<int>(spank, S_TASK_ID)) return;
  RecordBuilder record(kind::kTaskStart, NodeStamp());
  AddStep(spank, *plugin, &record);
  AddTask(spank, &record);
  plugin->spool.Write(record.Finish());
}

void TaskExit(spank_t spank, Plugin* plugin) {
  if (!plugin->recording || !ItemAs<int>(spank, S_TASK_ID)) return;
  RecordBuilder record(kind::kTaskExit, NodeStamp());
  AddStep(spank, *plugin, &record);
  AddTask(spank, &record);
  if (const auto status = ItemAs<int>(spank, S_TASK_EXIT_STATUS)) {
    if (WIFEXITED(*status)) record.Int(key::kExitCode, WEXITSTATUS(*status));
    if (WIFSIGNALED(*status)) record.Int(key::kSignal, WTERMSIG(*status));
  }
  plugin->spool.Write(record.Finish());
}

void StepExit(spank_t spank, Plugin* plugin) {
  if (!plugin->recording) return;
  RecordBuilder record(kind::kStepEnd, NodeStamp());
  AddStep(spank, *plugin, &record);
  if (StepId(spank) != kExternStep) AddStepUse(ReadStepUse(RealFiles()), &record);
  plugin->spool.Write(record.Finish());
}

}  // namespace goodput
