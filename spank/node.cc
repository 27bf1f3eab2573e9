// The hooks of slurmd, and of the prolog and epilog on every node of a job. A hook that dies here drains the
// node, so these only write their record and the job's note.
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "spank/event.h"
#include "spank/fixed_text.h"
#include "spank/hooks.h"

namespace goodput {
namespace {

// The process's own environment, made by slurmd and slurmctld and not by the job, whose variables have the
// prefix SPANK_ here.
const char* OwnEnv(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): these processes have one thread
}

std::optional<int64_t> EnvNumber(const char* name) {
  const char* text = OwnEnv(name);
  if (text == nullptr) return std::nullopt;
  int64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || text == end) return std::nullopt;
  return value;
}

// The number of devices in a list such as "0,1,4-7".
std::optional<int64_t> CountDevices(const char* list) {
  if (list == nullptr || *list == '\0') return std::nullopt;
  int64_t count = 0;
  const char* const end = list + std::strlen(list);
  while (true) {
    int64_t first = 0;
    auto parsed = std::from_chars(list, end, first);
    if (parsed.ec != std::errc()) return std::nullopt;
    int64_t last = first;
    if (parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
      if (parsed.ec != std::errc() || last < first) return std::nullopt;
    }
    count += last - first + 1;
    if (parsed.ptr == end) return count;
    if (*parsed.ptr != ',') return std::nullopt;
    list = parsed.ptr + 1;
  }
}

template <std::size_t kSize>
void CopyEnv(const char* name, std::array<char, kSize>* out) {
  const char* value = OwnEnv(name);
  if (value != nullptr) CopyText(value, out);
}

struct Job {
  uint32_t id = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  bool known = false;
};

Job ThisJob(spank_t spank) {
  Job job;
  job.known = spank_get_item(spank, S_JOB_ID, &job.id) == ESPANK_SUCCESS &&
              spank_get_item(spank, S_JOB_UID, &job.uid) == ESPANK_SUCCESS &&
              spank_get_item(spank, S_JOB_GID, &job.gid) == ESPANK_SUCCESS;
  return job;
}

JobState NoteFromEnvironment() {
  JobState note;
  note.gpus = CountDevices(OwnEnv("SLURM_JOB_GPUS"));
  // One that is too long is left out.
  if (note.gpus) CopyEnv("SLURM_JOB_GPUS", &note.gpu_ids);
  note.restart = EnvNumber("SLURM_JOB_RESTART_COUNT");
  note.job_start_s = EnvNumber("SLURM_JOB_START_TIME");
  note.het_job = EnvNumber("SLURM_HET_JOB_ID");
  CopyEnv("SLURM_CLUSTER_NAME", &note.cluster);
  CopyEnv("SLURM_JOB_SLUID", &note.sluid);
  return note;
}

void AddJob(const Job& job, const JobState& note, RecordBuilder* record) {
  if (note.cluster[0] != '\0') record->Text(key::kCluster, note.cluster.data());
  record->Uint(key::kJob, job.id);
  record->Uint(key::kUid, job.uid);
  record->Uint(key::kGid, job.gid);
  if (note.het_job) record->Int(key::kHetJob, *note.het_job);
  if (note.restart) record->Int(key::kRestart, *note.restart);
  if (note.job_start_s) record->Int(key::kJobStart, *note.job_start_s);
  if (note.sluid[0] != '\0') record->Text(key::kSluid, note.sluid.data());
  if (note.gpus) record->Int(key::kGpus, *note.gpus);
}

// Options as the prolog sees them: those of the submission, then the environment variables that SubmitPostOpt
// passed on.
JobOptions PrologOptions(spank_t spank) {
  JobOptions given;
  for (const OptionSpec& spec : kOptions) {
    spank_option option{};
    option.name = const_cast<char*>(spec.name);
    option.usage = const_cast<char*>(spec.usage);
    option.has_arg = 1;
    option.val = static_cast<int>(spec.id);
    char* value = nullptr;
    if (spank_option_getopt(spank, &option, &value) == ESPANK_SUCCESS && value != nullptr) {
      ParseOption(spec.id, value, &given);
    }
  }
  const JobOptions twins =
      ReadTwins([](const char* name) { return OwnEnv((std::string("SPANK_") + name).c_str()); });
  return Merge(given, twins);
}

}  // namespace

Stamp NodeStamp() {
  const char* node = OwnEnv("SLURMD_NODENAME");
  const Moment now = ReadMoment(kSystemClock);
  return {now.real_ns, now.mono_ns, node == nullptr ? "" : node, static_cast<int>(getpid())};
}

bool OpenNodeSpool(Plugin* plugin) {
  Spool::Config config;
  config.root = plugin->site.spool;
  config.max_bytes = plugin->site.spool_max;
  if (const char* node = OwnEnv("SLURMD_NODENAME")) config.node = node;
  const std::string refusal = plugin->spool.Open(config);
  // info, not error: slurmstepd shows errors to the job's user, who cannot fix this.
  if (!refusal.empty()) slurm_info("goodput: %s", refusal.c_str());
  return !refusal.empty() || plugin->spool.enabled();
}

void SlurmdInit(int argc, char** argv) {
  std::vector<std::string> complaints;
  ParseSite(argc, argv, &complaints);
  for (const std::string& complaint : complaints) slurm_error("goodput: %s", complaint.c_str());
}

void JobProlog(spank_t spank, Plugin* plugin) {
  if (!OpenNodeSpool(plugin) || !plugin->spool.is_open()) return;
  const Job job = ThisJob(spank);
  if (!job.known) return;
  const JobOptions said = PrologOptions(spank);
  JobState note = NoteFromEnvironment();
  note.enabled = said.enabled.value_or(plugin->site.enabled);
  RememberCluster(plugin->spool, note);
  // A site that is off by default keeps no note for jobs that it does not record.
  if (note.enabled || plugin->site.enabled) {
    WriteJobState(plugin->spool, job.id, note);
  } else {
    DropJobState(plugin->spool, job.id);
  }
  if (!note.enabled) return;
  RecordBuilder record(kind::kJobProlog, NodeStamp());
  AddJob(job, note, &record);
  if (note.gpu_ids[0] != '\0') record.Text(key::kGpuIds, note.gpu_ids.data());
  AddOptions(Merge(said, plugin->site.defaults), &record);
  plugin->spool.Write(record.Finish());
}

void JobEpilog(spank_t spank, Plugin* plugin) {
  if (!OpenNodeSpool(plugin) || !plugin->spool.is_open()) return;
  const Job job = ThisJob(spank);
  if (!job.known) return;
  const std::optional<JobState> kept = ReadJobState(plugin->spool, job.id);
  DropJobState(plugin->spool, job.id);
  if (!(kept ? kept->enabled : plugin->site.enabled)) return;
  RecordBuilder record(kind::kJobEpilog, NodeStamp());
  AddJob(job, kept ? *kept : NoteFromEnvironment(), &record);
  plugin->spool.Write(record.Finish());
}

}  // namespace goodput
